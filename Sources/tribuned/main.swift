// SPDX-License-Identifier: Apache-2.0

import TribuneServer
import TribuneSystem

ThisProcess.exit(Daemon.main(Array(CommandLine.arguments.dropFirst())))
