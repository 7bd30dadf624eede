// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// The take-over and the hand-over. The bus serves no clients meanwhile, so every wait has a limit.
extension KeeperLink {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private static let connectingLimit = Duration.seconds(2)
  private static let givingLimit = Duration.seconds(5)
  /// How long the bus tries to send a message, if the socket is full or the system lacks memory.
  private static let sendingLimit = Duration.seconds(1)
  static let handOverLimit = Duration.seconds(5)
  private static let pauseMilliseconds: UInt32 = 10

  // MARK: Coming

  /// Receives the previous daemon's descriptors from the keeper. If there is no keeper, the bus looks for one
  /// later.
  ///
  /// - Throws: an error if the keeper serves another bus or does not answer. If this bus started
  ///   nevertheless, it would lack the connections that the keeper has.
  func resume(into passed: PassedAtStart) throws(Failure) {
    guard !hasEnded else { return }
    let channel: KeeperChannel
    do throws(KeeperChannel.Failure) {
      channel = try connect()
    } catch {
      return log.warning("nothing is taken over: no keeper at \(path): \(error)")
    }
    do throws(KeeperChannel.Failure) {
      let missing = try attach(log: passed.logInode ?? 0, over: channel, into: passed)
      if missing > 0 {
        log.warning(
          "could not receive \(missing.counted("descriptor")); this process can have \(ThisProcess.descriptorLimit)"
        )
      }
    } catch {
      given = []
      switch error {
      case .refused(let reason): throw Failure(description: "the keeper at \(path): \(reason)")
      case .failed(.timedOut): throw Failure(description: "the keeper at \(path) does not answer")
      default: break
      }
      log.warning("cannot receive everything from the keeper: \(error)")
      state = .down(until: now)
    }
  }

  private func connect() throws(KeeperChannel.Failure) -> KeeperChannel {
    let deadline = ContinuousClock.now + Self.connectingLimit
    while true {
      do throws(KeeperChannel.Failure) {
        return try KeeperChannel.connect(to: path)
      } catch {
        if case .untrusted = error { throw error }
        guard ContinuousClock.now < deadline else { throw error }
        Thread.sleep(milliseconds: Self.pauseMilliseconds)
      }
    }
  }

  private func attach(
    log inode: UInt64, over channel: KeeperChannel, into passed: PassedAtStart
  ) throws(KeeperChannel.Failure) -> Int {
    let began = now
    try send(.attach(.resume(log: inode)), on: channel)
    let missing = try receiveAll(from: channel, into: passed)
    try watch(channel)
    state = .up(channel)
    renewLease()
    let microseconds = now.nanoseconds(since: began) / 1000
    log.info("received \(given.count.counted("descriptor")) from the keeper in \(microseconds) µs")
    return missing
  }

  private func receiveAll(
    from channel: KeeperChannel, into passed: PassedAtStart
  ) throws(KeeperChannel.Failure) -> Int {
    var receivedCount = 0
    while true {
      let next = try next(on: channel)
      switch next.message {
      case .batch(let batch):
        let count = next.passed.count
        receivedCount += count
        passed.take(batch, next.passed)
        given.formUnion(batch)
        try send(.acknowledged(count: count), on: channel)
      case .end(let count):
        guard count == given.count else { throw .malformed("\(given.count) of \(count) items came") }
        return count - receivedCount
      case .acknowledged: return 0
      // The keeper sends this message again when it has given everything.
      case .leaving: break
      case .attach, .forget, .finished, .refusal:
        throw .malformed("unexpected message from the keeper")
      }
    }
  }

  private func send(_ message: KeeperMessage, on channel: KeeperChannel) throws(KeeperChannel.Failure) {
    let deadline = ContinuousClock.now + Self.sendingLimit
    while try !channel.send(message) {
      guard ContinuousClock.now < deadline else { throw .failed(.timedOut) }
      Thread.sleep(milliseconds: Self.pauseMilliseconds)
    }
  }

  private struct Next: ~Copyable {
    let message: KeeperMessage
    let passed: PassedDescriptors
  }

  private func next(on channel: KeeperChannel) throws(KeeperChannel.Failure) -> Next {
    while true {
      if case .message(let message, let passed) = try channel.receive() {
        if case .refusal(let reason) = message { throw .refused(reason) }
        return Next(message: message, passed: passed)
      }
      guard try channel.wait(atMost: Self.givingLimit) else { throw .failed(.timedOut) }
    }
  }

  // MARK: Going

  func flush(within limit: Duration) -> Bool {
    isHandingOver = true
    defer { isHandingOver = false }
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline {
      tick(at: now)
      flush()
      switch state {
      case .up(let channel):
        if unacknowledged.isEmpty, !hasWork { return keepsAll }
        wait(for: channel)
      case .attaching(let channel): wait(for: channel)
      case .down, .ended: Thread.sleep(milliseconds: Self.pauseMilliseconds)
      }
      receive()
    }
    return false
  }

  /// Makes the keeper forget connections that it has not acknowledged. The keeper can have such a connection
  /// if its acknowledgement has not arrived yet. Does not wait for an answer.
  func forgetUnkept() {
    guard case .up(let channel) = state else { return }
    let items = unkeptConnections
    do throws(KeeperChannel.Failure) {
      for start in stride(from: 0, to: items.count, by: KeeperMessage.itemsMax) {
        _ = try channel.send(.forget(Array(items[start...].prefix(KeeperMessage.itemsMax))))
      }
    } catch {
      log.debug("cannot tell the keeper which connections have ended: \(error)")
    }
  }

  private func wait(for channel: KeeperChannel) {
    do throws(KeeperChannel.Failure) {
      _ = try channel.wait(atMost: .milliseconds(100))
    } catch {
      Thread.sleep(milliseconds: Self.pauseMilliseconds)
    }
  }
}
