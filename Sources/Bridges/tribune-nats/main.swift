// SPDX-License-Identifier: Apache-2.0

import TribuneNATS
import TribuneSystem

ThisProcess.exit(
  NATSProgram.main(Environment.arguments.dropFirst().map { String(decoding: $0, as: UTF8.self) }))
