// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Tells the core when a client has read its unread questions (`QuestionTurns`). The core then sends the questions
/// that wait for their turns.
extension Interpreter {
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
      // No event reports that a client has read, so a timer checks again. Its period grows with the number of
      // sessions, because one user can have thousands that do not read.
      guard !session.output.isReadCheckScheduled else { return }
      session.output.isReadCheckScheduled = true
      let period = UnixSocket.examinationPeriod(count: sessions.count)
      return context.schedule(.unread, session.token, afterNanoseconds: period)
    }
    perform {
      recorder.recordRead(by: session.id)
      bus.value.markRead(by: session.slot, at: context.now)
    }
  }

  /// True if the client has read all frames that were queued when its questions began to wait. Later frames do not
  /// matter, because they may never end.
  private func hasRead(_ session: Session) -> Bool {
    let unread = UInt64(UnixSocket.unreadMemory(of: session.descriptor))
    // If notifications were dropped, `sentByteCount` may stay below `awaitedByteCount`.
    if session.output.queue.isEmpty, unread == 0 { return true }
    let sent = session.output.sentByteCount
    return sent >= unread && sent - unread >= session.output.awaitedByteCount
  }
}
