// SPDX-License-Identifier: Apache-2.0

import TribuneService
import TribuneSystem

/// Writes to every user's terminal with wall(1).
enum Wall {
  static func write(_ message: String) async {
    do throws(Errno) {
      let wall = try ChildProcess(
        ["wall"].map { Array($0.utf8) }, input: .bytes(Array("\(message)\n".utf8)),
        output: .captured(limit: 4096),
        leadsGroup: false, signalMask: SignalMask([]))
      _ = await wall.ended()
    } catch {
      ServiceLog.warning("nobody was told by wall(1): \(error)")
    }
  }
}
