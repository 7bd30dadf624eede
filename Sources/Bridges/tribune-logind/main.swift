// SPDX-License-Identifier: Apache-2.0

import TribuneLogind
import TribuneSystem

ThisProcess.exit(
  LogindProgram.main(Environment.arguments.dropFirst().map { String(decoding: $0, as: UTF8.self) }))
