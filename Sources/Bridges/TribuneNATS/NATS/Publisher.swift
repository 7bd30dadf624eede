// SPDX-License-Identifier: Apache-2.0

import CNats
import Dispatch
import Synchronization
import TribuneService

/// Publishes messages, from any thread. A dispatch queue passes the messages to libnats.
nonisolated final class Publisher: Sendable {
  private static let countMax = 8_192
  private static let weightMax = 64 << 20
  private static let answerMilliseconds: Int64 = 2_000

  private struct State {
    var client: NATSClient?
    var lack: String? = "not connected to NATS yet"
    var payloadMax = 0
    /// Counts messages that libnats has not taken yet.
    var count = 0
    var weight = 0
    var failedCount = 0
  }

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "tribune-nats.publisher")

  var lack: String? { state.withLock { $0.lack } }

  var isUp: Bool { client != nil }

  var client: NATSClient? { state.withLock { $0.client } }

  var payloadMax: Int { state.withLock { $0.payloadMax } }

  func use(_ client: NATSClient?, lack: String?) {
    let payloadMax = client?.payloadMax ?? 0
    state.withLock { ($0.client, $0.lack, $0.payloadMax) = (client, lack, payloadMax) }
  }

  /// Returns false if the message is dropped: while the link is down, or if too many messages wait. If
  /// libnats refuses the message later, `failed` runs on another thread.
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

  /// True if the server answers a ping that follows all earlier publications. By then, this process has had
  /// time to handle all messages that preceded the answer.
  func isThere() async -> Bool {
    guard let client, await answers(client), client === self.client else { return false }
    // Gives libnats's threads time to handle the latest messages.
    await rest(for: .milliseconds(100))
    return client === self.client
  }

  /// True if the server answers a ping that follows all earlier publications.
  func answers(_ client: NATSClient) async -> Bool {
    let answer = await queue.result { () throws(NATSError) in
      try client.ping(milliseconds: Self.answerMilliseconds)
    }
    if case .success = answer { return true }
    return false
  }
}
