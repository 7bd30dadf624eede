// SPDX-License-Identifier: Apache-2.0

/// Prints notifications about backups.
///
/// Try it: `tribunectl post backup.didFinish --object=volume/home`

import Tribune

let bus = try await Connection.connect()
for try await delivery in try await bus.observe("backup.**") {
  switch delivery {
  case .notification(let backup): print(backup.name, backup.object)
  case .lost(let count): print("missed \(count)")
  case .interrupted: print("missed an unknown number")
  }
}
