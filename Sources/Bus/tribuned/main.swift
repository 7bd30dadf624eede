// SPDX-License-Identifier: Apache-2.0

import TribuneServer
import TribuneSystem

ThisProcess.exit(Daemon.main(Environment.arguments.dropFirst().map { String(decoding: $0, as: UTF8.self) }))
