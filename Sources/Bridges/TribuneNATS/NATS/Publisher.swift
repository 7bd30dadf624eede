// SPDX-License-Identifier: Apache-2.0

import CNats
import Dispatch
import Synchronization
import TribuneService

/// What this host publishes, from any thread. Nobody waits for the network: a queue of its own hands messages to libnats.
nonisolated final class Publisher: Sendable {
  private static let countMax = 8_192
  private static let weightMax = 64 << 20
  private static let answerMilliseconds: Int64 = 2_000

  private struct State {
    var client: NATSClient?
    var lack: String? = "not connected to NATS yet"
    var payloadMax = 0
    /// Of the messages that were given to the queue, and are not with libnats yet.
    var count = 0
    var weight = 0
    var failedCount = 0
  }

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "tribune-nats.publisher")

  /// Why nothing can be published; nil while something can.
  var lack: String? { state.withLock { $0.lack } }

  var isUp: Bool { client != nil }

  var client: NATSClient? { state.withLock { $0.client } }

  var payloadMax: Int { state.withLock { $0.payloadMax } }

  func use(_ client: NATSClient?, lack: String?) {
    let payloadMax = client?.payloadMax ?? 0
    state.withLock { ($0.client, $0.lack, $0.payloadMax) = (client, lack, payloadMax) }
  }

  /// - Parameter failed: called on another thread if libnats does not take it.
  /// - Returns: false if it is dropped, because there is no server, or too much waits.
  func publish(_ message: ClusterMessage, failed: (@Sendable () -> Void)? = nil) -> Bool {
    let weight = message.weight
    let client = state.withLock { state -> NATSClient? in
      guard let client = state.client, state.count < Self.countMax, state.weight + weight <= Self.weightMax
      else {
        return nil
      }
      state.count += 1
      state.weight += weight
      return client
    }
    guard let client else { return false }
    queue.async { [self] in
      var isTaken = true
      do throws(NATSError) {
        try client.publish(message)
      } catch {
        isTaken = false
      }
      state.withLock { state in
        state.count -= 1
        state.weight -= weight
        state.failedCount += isTaken ? 0 : 1
      }
      if !isTaken { failed?() }
    }
    return true
  }

  func takeFailedCount() -> Int {
    state.withLock { state in
      defer { state.failedCount = 0 }
      return state.failedCount
    }
  }

  /// Whether the server answers what is sent now, behind all that was published before. What it had for this host by then has
  /// been handled.
  func isThere() async -> Bool {
    guard let client, await answers(client), client === self.client else { return false }
    // What libnats has read before the answer may still be on its way through its threads.
    await rest(for: .milliseconds(100))
    return client === self.client
  }

  /// On the queue, so that an answer is about what was published before, too.
  func answers(_ client: NATSClient) async -> Bool {
    let answer = await queue.result { () throws(NATSError) in
      try client.ping(milliseconds: Self.answerMilliseconds)
    }
    if case .success = answer { return true }
    return false
  }
}
