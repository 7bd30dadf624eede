// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneCommands
import TribuneSystem

exit(await Tribunectl.run(Array(Environment.arguments.dropFirst())))
