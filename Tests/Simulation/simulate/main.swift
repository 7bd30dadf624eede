// SPDX-License-Identifier: Apache-2.0

import Glibc

signal(SIGPIPE, SIG_IGN)
exit(Simulation.main(Array(CommandLine.arguments.dropFirst())))
