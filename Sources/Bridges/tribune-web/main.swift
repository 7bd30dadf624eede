// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWeb

ThisProcess.exit(
  WebProgram.main(Environment.arguments.dropFirst().map { String(decoding: $0, as: UTF8.self) }))
