// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Tells the core when a delegate has read its questions, if others wait for that.
extension Interpreter {
  func checkUnread() {
    while let slot = bus.value.popUnreadInbox() {
      guard let session = sessions[slot] else { continue }
      session.output.awaitedByteCount =
        session.output.sentByteCount + UInt64(session.output.queue.unsentCount)
      checkUnread(of: session)
    }
  }

  func checkUnread(of session: Session) {
    guard session.isOpen, session.output.writing != .closed, bus.value.isWaitingToBeRead(session.slot)
    else { return }
    guard hasRead(session) else {
      // Nothing tells when a client reads, and one user can have thousands that are looked at.
      let period = UnixSocket.examinationPeriod(count: sessions.count)
      return context.schedule(.unread, session.token, afterNanoseconds: period)
    }
    advance()
    guard bus.value.isWaitingToBeRead(session.slot) else { return }
    recorder.recordRead(by: session.id)
    perform { bus.value.noteRead(by: session.slot, at: context.now) }
  }

  /// Whether a client has read all that was queued for it when questions began to wait for that. It may have more to read:
  /// others could send it notifications without end.
  private func hasRead(_ session: Session) -> Bool {
    let unread = UInt64(UnixSocket.unreadMemory(of: session.descriptor))
    // Queued notifications may have been dropped since.
    if session.output.queue.isEmpty, unread == 0 { return true }
    let sent = session.output.sentByteCount
    return sent >= unread && sent - unread >= session.output.awaitedByteCount
  }
}
