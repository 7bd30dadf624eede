// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneCommands
import TribuneSystem

let program = Tribunectl(Array(Environment.arguments.dropFirst()))
exit(await program.run())
