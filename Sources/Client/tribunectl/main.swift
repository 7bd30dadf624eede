// SPDX-License-Identifier: Apache-2.0

import TribuneCommands
import TribuneSystem

ThisProcess.begin("tribunectl", failure: 255)
let program = Tribunectl(Array(Environment.arguments.dropFirst()))
Task.detached { ThisProcess.exit(await program.run()) }
// If this thread waited with `await`, Dispatch would take the thread over, and unblock the signals that the
// verb waits for. These signals would then end the process.
ThisProcess.waitForExit()
