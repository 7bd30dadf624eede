// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

/// An awaited notification that streams of this connection have received. The bus is told once, when all of
/// them have said how it went.
final class AwaitedNotification: Sendable {
  private struct State {
    /// Streams that have said nothing yet.
    var open: Int
    /// Why the first that could not, could not.
    var failure: String?
  }

  private let link: Link
  /// What the bus knows it by.
  private let poster: ConnectionID
  private let post: Serial
  /// The connection that it came over.
  private let epoch: Int
  private let state: Mutex<State>

  init(poster: ConnectionID, post: Serial, streams: Int, link: Link) {
    precondition(streams > 0, "an awaited notification that no stream receives")
    self.link = link
    self.poster = poster
    self.post = post
    epoch = link.epoch.load(ordering: .relaxed)
    state = Mutex(State(open: streams))
  }

  /// One of the streams has said how it went; nil is well. Each says it once.
  func settle(_ failure: String?) {
    let (isOver, failure) = state.withLock { state in
      state.open -= 1
      state.failure = state.failure ?? failure
      return (state.open == 0, state.failure)
    }
    if isOver { link.acknowledge(poster: poster, post: post, failure, in: epoch) }
  }
}

extension Link {
  /// Tells the bus how it went with an awaited notification; a nil failure is well. Nothing is told when the
  /// connection that it came over is ending, by which the bus knows, or has been followed by another.
  func acknowledge(poster: ConnectionID, post: Serial, _ failure: String?, in epoch: Int) {
    let done = Done(poster: poster, post: post, hasFailed: failure != nil)
    let reason = failure?.reasonBytes ?? []
    let duty = state.withLock { state -> Outbox.Duty in
      guard state.isServing, epoch == self.epoch.load(ordering: .relaxed) else { return .none }
      return state.outbox.append(done, serial: state.nextSerial(), payload: reason)
    }
    perform(duty)
  }
}
