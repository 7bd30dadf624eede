// SPDX-License-Identifier: Apache-2.0

import TribuneCommands
import TribuneSystem

ThisProcess.begin("tribunectl")
let program = Tribunectl(Array(Environment.arguments.dropFirst()))
Task.detached { ThisProcess.exit(await program.run()) }
// Waiting here rather than in `await` keeps this thread from Dispatch, which would unblock the signals
// that the verb waits for and die of them.
ThisProcess.waitForExit()
