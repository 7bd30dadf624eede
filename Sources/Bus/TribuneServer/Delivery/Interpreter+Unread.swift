// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Tells the core when clients have read questions that nobody waits for any more, if other questions wait for that.
extension Interpreter {
  /// Notes what the clients must read before other questions are sent to them, and looks whether they have.
  func checkUnread() {
    while let slot = bus.value.popUnreadInbox() {
      guard let session = sessions[slot] else { continue }
      session.output.awaitedByteCount =
        session.output.sentByteCount + UInt64(session.output.queue.unsentCount)
      checkUnread(of: session)
    }
  }

  func checkUnreadAgain(of session: Session) {
    session.output.isReadCheckScheduled = false
    checkUnread(of: session)
  }

  private func checkUnread(of session: Session) {
    guard session.isOpen, session.output.writing != .closed, bus.value.isWaitingToBeRead(session.slot)
    else { return }
    guard hasRead(session) else {
      // No event says that a client has read. The period grows with the sessions: one user can have thousands that do not
      // read.
      guard !session.output.isReadCheckScheduled else { return }
      session.output.isReadCheckScheduled = true
      let period = UnixSocket.examinationPeriod(count: sessions.count)
      return context.schedule(.unread, session.token, afterNanoseconds: period)
    }
    recorder.recordRead(by: session.id)
    perform { bus.value.noteRead(by: session.slot, at: context.now) }
  }

  /// Whether a client has read all that was queued for it when questions began to wait for that. What came later does not
  /// matter: there could be notifications without end.
  private func hasRead(_ session: Session) -> Bool {
    let unread = UInt64(UnixSocket.unreadMemory(of: session.descriptor))
    // If queued notifications have been dropped since, `sentByteCount` may stay below `awaitedByteCount`.
    if session.output.queue.isEmpty, unread == 0 { return true }
    let sent = session.output.sentByteCount
    return sent >= unread && sent - unread >= session.output.awaitedByteCount
  }
}
