// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

/// An awaited notification that one or more streams received. The link reports to the bus once, after all
/// streams have reported.
final class AwaitedNotification: Sendable {
  private struct State {
    var open: Int
    var failure: String?
  }

  private let link: Link
  private let poster: ConnectionID
  private let post: Serial
  private let epoch: Int
  private let state: Mutex<State>

  init(poster: ConnectionID, post: Serial, streams: Int, link: Link, epoch: Int) {
    precondition(streams > 0, "an awaited notification needs at least one stream")
    self.link = link
    self.poster = poster
    self.post = post
    self.epoch = epoch
    state = Mutex(State(open: streams))
  }

  /// Records the result of one stream. Must be called once for each stream. A nil failure means success.
  func finish(_ failure: String?) {
    let (isOver, failure) = state.withLock { state in
      state.open -= 1
      state.failure = state.failure ?? failure
      return (state.open == 0, state.failure)
    }
    if isOver { link.acknowledge(poster: poster, post: post, failure, in: epoch) }
  }
}

extension Link {
  func acknowledge(poster: ConnectionID, post: Serial, _ failure: String?, in epoch: Int) {
    let done = Done(poster: poster, post: post, hasFailed: failure != nil)
    let reason = failure?.reasonBytes ?? []
    perform(state.withLock { $0.acknowledge(done, reason: reason, in: epoch) })
  }
}
