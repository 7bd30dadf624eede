// SPDX-License-Identifier: Apache-2.0

import Glibc
import Tribune

/// Vetoes prunes while an archive is being restored.
///
/// Try it: `tribunectl post restore.begins`, then `tribunectl ask archive.shouldPrune`
actor Steward: Delegate {
  private var restores = 0

  func answer(_ question: Question) -> Answer {
    restores == 0 ? .approve : .veto("restores under way: \(restores)")
  }

  func take(_ restore: Notification) {
    restores = max(0, restores + (restore.name == "restore.begins" ? 1 : -1))
    restore.acknowledgement?.done()
  }
}

@main
struct Main {
  static func main() async {
    // The connection does not retain its delegates; this reference does.
    let steward = Steward()
    do {
      let bus = try await Connection.connect()
      let restores = try await bus.observe(anyOf: ["restore.begins", "restore.ends"], awaited: true)
      try await bus.attach(steward, respondingTo: ["archive.shouldPrune"], label: "steward")
      print("attached as \(bus.id)")
      for try await case .notification(let restore) in restores { await steward.take(restore) }
    } catch {
      print(error)
      exit(1)
    }
  }
}
