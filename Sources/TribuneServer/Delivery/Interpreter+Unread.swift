// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// Tells the core when a delegate has read its questions, if others wait for that.
extension Interpreter {
  /// Nothing tells when a client reads, so it is looked at again after this time.
  private static let unreadNanoseconds: UInt64 = 10_000_000
  /// The same for each session, because one user can have thousands that are looked at: that takes about a tenth.
  private static let unreadPerSessionNanoseconds: UInt64 = 15_000

  func checkUnread() {
    while let slot = bus.value.popUnreadInbox() {
      if let session = sessions[slot] { checkUnread(of: session) }
    }
  }

  func checkUnread(of session: Session) {
    guard session.isOpen, session.output.writing != .closed, bus.value.isWaitingToBeRead(session.slot)
    else { return }
    guard session.output.queue.isEmpty, sender.isDrained(session) else {
      let period = max(
        Self.unreadNanoseconds, UInt64(sessions.count) * Self.unreadPerSessionNanoseconds)
      return context.schedule(.unread, session.token, afterNanoseconds: period)
    }
    advance()
    guard bus.value.isWaitingToBeRead(session.slot) else { return }
    recorder.recordRead(by: session.id)
    perform { bus.value.noteRead(by: session.slot, at: context.now) }
  }
}
