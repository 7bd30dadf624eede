// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// Counts what the policy refuses, and logs it.
final class DenialLog {
  private let context: ServerContext

  init(_ context: ServerContext) { self.context = context }

  func note(_ error: WireError, of session: Session) {
    context.statistics.value.denied += 1
    guard context.mayLog(.denials, about: session.peer.uid) else { return }
    context.log.write(
      .notice, "did not allow \(session.peer.summary) (connection \(session.id)): \(error.message)",
      session.journalFields("TRIBUNE_ERROR", "\(error.code)"))
  }
}
