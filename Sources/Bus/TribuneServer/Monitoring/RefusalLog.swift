// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// Counts all refusals, and logs the refusals by the policy.
final class RefusalLog {
  private let context: ServerContext

  init(_ context: ServerContext) { self.context = context }

  func countAndLog(_ error: WireError, of session: Session) {
    guard error.code == .notPermitted else {
      context.statistics.value.refused += 1
      session.traffic.refused += 1
      return
    }
    context.statistics.value.denied += 1
    session.traffic.denied += 1
    guard context.mayLog(.denials, about: session.peer.uid) else { return }
    context.log.write(
      .notice, "did not allow \(session.peer.summary) (connection \(session.id)): \(error.message)",
      session.journalFields("TRIBUNE_ERROR", "\(error.code)"), for: session.peer.uid)
  }
}
