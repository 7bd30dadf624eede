// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Tells the core when a delegate's client has read its unread questions (`QuestionTurns`). The core then
/// goes on with this client's questions that wait for their turns.
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
      // The kernel does not report when a client reads, so a timer checks again. The period grows with the
      // number of sessions, to limit the time for checks: one user can have thousands of sessions whose
      // clients do not read.
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

  /// True if the client has read all frames that were queued at the first check (`awaitedByteCount`). Frames
  /// queued later do not count: while the bus constantly queues frames, a client never has read all of them.
  private func hasRead(_ session: Session) -> Bool {
    let unread = UInt64(UnixSocket.unreadMemory(of: session.descriptor))
    // This check needs no counts: after drops, `sentByteCount` can stay below `awaitedByteCount` forever.
    if session.output.queue.isEmpty, unread == 0 { return true }
    let sent = session.output.sentByteCount
    return sent >= unread && sent - unread >= session.output.awaitedByteCount
  }
}
