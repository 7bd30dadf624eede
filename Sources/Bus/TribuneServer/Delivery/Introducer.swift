// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// Sends an *introduction* of a poster (a `poster` frame) before the poster's first notification, to each
/// observer that has asked for introductions.
///
/// An introduction tells the observer who the poster is, and under which slot number to remember the poster.
/// `Output.knownPosters` has the slots whose posters the observer knows. When a poster's session ends, the
/// bus removes the poster's slot there. All departed posters share one slot number (`departedSlot`), so each
/// departed poster replaces the one before. Posters whose notifications wait in a backlog share another slot
/// number (`waitingSlot`): the bus can reuse their own slots before it sends the notifications. The bus never
/// drops introductions, because later notifications rely on them.
final class Introducer {
  private let sessions: SessionTable
  private let sender: Sender
  private let replier: Replier
  private let context: ServerContext

  init(_ sender: Sender, _ replier: Replier, _ context: ServerContext) {
    sessions = context.sessions
    (self.sender, self.replier, self.context) = (sender, replier, context)
  }

  /// - Parameter count: the number of notifications that follow the introduction.
  /// - Returns: false if this method has reported these notifications as lost. If so, the caller must not
  ///   queue them.
  @inline(__always)
  func introduce(_ poster: Session, to receiver: Receiver, before count: Int) -> Bool {
    guard let observer = sessions.output(at: receiver.slot), observer.value.wantsPosters else { return true }
    if !receiver.isDelegate, observer.value.room < count {
      return tell(receiver.slot, of: poster.id, poster.peer, before: count, false)
    }
    guard !observer.value.knownPosters.contains(poster.slot) else { return true }
    return tell(receiver.slot, of: poster, before: count, false)
  }

  /// - Parameters:
  ///   - peer: the poster's identity, used if the poster has departed, or if its introduction must wait.
  ///   - wereBuffered: true if the log already counts the notifications as buffered.
  ///   - overtakesBacklog: true if the observer gets the notifications as a delegate, or in a snapshot.
  func introduce(
    _ id: ConnectionID, _ peer: @autoclosure () -> PeerIdentity, toObserverAt slot: ConnectionSlot,
    before count: Int, wereBuffered: Bool = false, overtakesBacklog: Bool = false
  ) -> Bool {
    guard let observer = sessions.output(at: slot), observer.value.wantsPosters, id != .bus else {
      return true
    }
    if !overtakesBacklog, observer.value.room < count {
      return tell(slot, of: id, peer(), before: count, wereBuffered)
    }
    if let poster = sessions[id] {
      guard !observer.value.knownPosters.contains(poster.slot) else { return true }
      return tell(slot, of: poster, before: count, wereBuffered)
    }
    guard observer.value.lastGonePoster != id else { return true }
    guard hasSpace(at: slot, before: count, wereBuffered) else { return false }
    observer.value.lastGonePoster = id
    enqueue(PosterFacts(connection: id, slot: PosterFacts.departedSlot, peer: peer()), for: slot)
    return true
  }

  private func tell(
    _ slot: ConnectionSlot, of poster: Session, before count: Int, _ wereBuffered: Bool
  ) -> Bool {
    guard hasSpace(at: slot, before: count, wereBuffered) else { return false }
    sessions.markKnown(poster, at: slot)
    enqueue(
      PosterFacts(connection: poster.id, slot: UInt32(poster.slot.index) + 1, peer: poster.peer), for: slot)
    return true
  }

  /// Queues the introduction in the backlog.
  private func tell(
    _ slot: ConnectionSlot, of id: ConnectionID, _ peer: @autoclosure () -> PeerIdentity, before count: Int,
    _ wereBuffered: Bool
  ) -> Bool {
    guard let session = sessions[slot] else { preconditionFailure("an output has a session") }
    guard session.output.backlog.lastIntroduced != id else { return true }
    guard hasSpace(at: slot, before: count, wereBuffered) else { return false }
    let facts = PosterFacts(connection: id, slot: PosterFacts.waitingSlot, peer: peer())
    sender.enqueueInBacklog(facts, for: session)
    session.output.backlog.introduce(id)
    return true
  }

  private func enqueue(_ facts: PosterFacts, for slot: ConnectionSlot) {
    guard let session = sessions[slot] else { preconditionFailure("an output has a session") }
    replier.enqueue(facts, for: session, serial: 0)
  }

  /// Reports the notifications that follow as lost, and returns false, if the observer's output is held
  /// (`Output.isHeld`), and one of these conditions is met:
  /// - The unread bytes of the observer's user exceed the user's share.
  /// - The observer is lossy, and has over a quarter of the hard limit unread.
  ///
  /// Without this limit, a client that posts from many connections could fill the observer's queue with
  /// introductions. The bus would then close the observer's connection (`tooSlow`).
  private func hasSpace(at slot: ConnectionSlot, before count: Int, _ wereBuffered: Bool) -> Bool {
    guard let session = sessions[slot] else { preconditionFailure("an output has a session") }
    let hasMuch =
      session.pacing.isLossy
      && session.output.unreadByteCount > context.configuration.queue.hardLimitBytes / 4
    guard session.output.isHeld, hasMuch || sender.accounts.isOverShare(of: .queues, session.account)
    else { return true }
    sender.enqueueLost(UInt64(count), for: session, wereBuffered: wereBuffered)
    return false
  }
}
