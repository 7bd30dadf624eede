// SPDX-License-Identifier: Apache-2.0

/// Vetoes reboots as long as it runs.
///
/// Try it: `tribunectl ask host.shouldReboot`

import Tribune

actor Backup: Delegate {
  func answer(_ question: Question) -> Answer { .veto("the nightly backup is at 40 %") }
}

let backup = Backup()
let bus = try await Connection.connect()
try await bus.attach(backup, respondingTo: ["host.shouldReboot"], label: "backup")
if let error = await bus.closed() { print("nobody is asked any more: \(error)") }
