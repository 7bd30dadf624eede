// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneServer

exit(Daemon.main(Array(CommandLine.arguments.dropFirst())))
