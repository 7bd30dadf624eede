// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// Tells the connections that want to know it who posts: once for each poster, before its first notification.
///
/// Each of these connections has a bit for each slot (`Output.knownPosters`). `SessionTable` clears the bits of a slot
/// when its session ends, so that the next poster in that slot is told. Posters that have gone share one slot: such a
/// poster is told again if another one was told in between.
///
/// The frames are never dropped, since later notifications rely on them. The next daemon does not know what this one
/// has told, and so tells all again.
final class Introducer {
  private let sessions: SessionTable
  private let sender: Sender
  private let replier: Replier
  private let context: ServerContext

  init(_ sessions: SessionTable, _ sender: Sender, _ replier: Replier, _ context: ServerContext) {
    (self.sessions, self.sender, self.replier, self.context) = (sessions, sender, replier, context)
  }

  /// - Parameters:
  ///   - slot: the observer's slot. Nothing is told to one that is detached.
  ///   - count: how many notifications follow.
  /// - Returns: false if the observer cannot be told, so that it must not be sent them. They are reported as lost.
  @inline(__always)
  func introduce(_ poster: Session, toObserverAt slot: ConnectionSlot, before count: Int) -> Bool {
    guard let observer = sessions.output(at: slot), observer.value.wantsPosters,
      !observer.value.knownPosters.contains(poster.slot)
    else { return true }
    return tell(slot, of: poster, before: count, false)
  }

  /// - Parameters:
  ///   - id: the poster, which may have gone.
  ///   - peer: what is known of it then.
  ///   - wereBuffered: whether the notifications are counted already, as buffered.
  func introduce(
    _ id: ConnectionID, _ peer: @autoclosure () -> PeerIdentity, toObserverAt slot: ConnectionSlot,
    before count: Int, wereBuffered: Bool = false
  ) -> Bool {
    guard let observer = sessions.output(at: slot), observer.value.wantsPosters, id != .bus else {
      return true
    }
    if let poster = sessions[id] {
      guard !observer.value.knownPosters.contains(poster.slot) else { return true }
      return tell(slot, of: poster, before: count, wereBuffered)
    }
    guard observer.value.lastGonePoster != id else { return true }
    guard hasSpace(at: slot, before: count, wereBuffered) else { return false }
    observer.value.lastGonePoster = id
    send(PosterFacts(connection: id, slot: PosterFacts.departedSlot, peer: peer()), to: slot)
    return true
  }

  private func tell(
    _ slot: ConnectionSlot, of poster: Session, before count: Int, _ wereBuffered: Bool
  ) -> Bool {
    guard hasSpace(at: slot, before: count, wereBuffered) else { return false }
    sessions.noteKnown(poster, at: slot)
    send(
      PosterFacts(connection: poster.id, slot: UInt32(poster.slot.index) + 1, peer: poster.peer), to: slot)
    return true
  }

  private func send(_ facts: PosterFacts, to slot: ConnectionSlot) {
    guard let session = sessions[slot] else { preconditionFailure("an output has a session") }
    replier.send(facts, to: session, serial: 0)
  }

  /// Whether the observer can be told of another poster.
  ///
  /// Nobody may get an observer closed for not reading (`tooSlow`) by posting from one connection after the other. So
  /// if frames that cannot be dropped take a quarter of what may wait, or its user has more unread than its share, the
  /// observer loses the notifications instead.
  private func hasSpace(at slot: ConnectionSlot, before count: Int, _ wereBuffered: Bool) -> Bool {
    guard let session = sessions[slot] else { preconditionFailure("an output has a session") }
    let hasMuch =
      session.pacing.isLossy
      && session.output.queue.byteCount > context.configuration.queue.hardLimitBytes / 4
    guard session.output.isBlocked, hasMuch || sender.accounts.isOverShare(of: .queues, session.account)
    else { return true }
    sender.reportLost(UInt64(count), to: session, wereBuffered: wereBuffered)
    return false
  }
}
