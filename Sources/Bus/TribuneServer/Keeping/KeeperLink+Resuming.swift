// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// How a bus takes the place of another one, and gives up its own. No client is served meanwhile, so every wait has a
/// limit.
extension KeeperLink {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// How long a bus tries to connect to its keeper, and how long it waits for each message of the keeper.
  private static let connectingLimit = Duration.seconds(2)
  private static let givingLimit = Duration.seconds(5)
  /// How long another bus has to hand everything over, and then to give up its place.
  private static let replacingLimit = Duration.seconds(20)
  /// How long a bus that has given up its place waits to hear that the other one has it. No client is served meanwhile.
  private static let yieldingLimit = Duration.seconds(4)
  /// How long a bus tries to send a message, if the system lacks memory for it.
  private static let sendingLimit = Duration.seconds(1)
  /// How long the keeper has to take what is handed over. No client is served meanwhile.
  static let handOverLimit = Duration.seconds(5)
  private static let pauseMilliseconds: UInt32 = 10

  // MARK: Coming

  /// Takes over what the keeper has, into `passed`. If there is no keeper, the bus looks for one later.
  ///
  /// - Throws: if the keeper serves another bus, or does not answer: this bus would start without what that keeper
  ///   may have.
  func resume(into passed: PassedAtStart) throws(Failure) {
    guard !hasEnded else { return }
    let channel: KeeperChannel
    do throws(KeeperChannel.Failure) {
      channel = try connect()
    } catch {
      return log.warning("nothing is taken over: no keeper at \(path): \(error)")
    }
    do throws(KeeperChannel.Failure) {
      let missing = try attach(
        .resume(log: passed.logInode ?? 0), over: channel, into: passed, within: Self.givingLimit)
      if missing > 0 { log.warning(Self.complaint(missing)) }
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

  /// Asks the bus that the keeper serves for its place, and takes over everything it has, into `passed`. That bus then
  /// waits for `takePlace`. If there is no such bus, this is like `resume`.
  ///
  /// - Parameter listenPath: the path at which that bus must listen, because this one uses its socket; any path if nil.
  func replace(into passed: PassedAtStart, listeningAt listenPath: String? = nil) throws(Failure) {
    let channel: KeeperChannel
    do throws(KeeperChannel.Failure) {
      channel = try connect()
    } catch {
      throw Failure(description: "no keeper at \(path): \(error)")
    }
    let missing: Int
    do throws(KeeperChannel.Failure) {
      let attachment = KeeperAttachment.replace(logVersion: WriteAheadLog.version)
      missing = try attach(attachment, over: channel, into: passed, within: Self.replacingLimit)
      guard given.isEmpty || passed.logInode != nil else { throw .malformed("the bus has no log") }
    } catch {
      throw Failure(description: "cannot replace the bus: \(error)")
    }
    guard missing == 0 else {
      throw Failure(description: "cannot replace the bus: \(Self.complaint(missing))")
    }
    if let listenPath, !given.isEmpty, !passed.hasListener(at: listenPath) {
      throw Failure(description: "cannot replace the bus: it does not listen at \(listenPath)")
    }
  }

  private static func complaint(_ missing: Int) -> String {
    "could not receive \(missing.counted("descriptor")); this process can have \(ThisProcess.descriptorLimit)"
  }

  /// Takes the place of the bus that waits.
  ///
  /// - Throws: if that bus keeps its place.
  func takePlace() throws(Failure) {
    guard case .up(let channel) = state else { return }
    do throws(KeeperChannel.Failure) {
      try send(.ready, on: channel, within: Self.sendingLimit)
      try expect(.yielded, on: channel, within: Self.replacingLimit)
    } catch {
      throw Failure(description: "cannot replace the bus: \(error)")
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

  /// - Returns: the number of descriptors that the keeper has and that did not come.
  private func attach(
    _ attachment: KeeperAttachment, over channel: KeeperChannel, into passed: PassedAtStart,
    within limit: Duration
  ) throws(KeeperChannel.Failure) -> Int {
    let began = now
    try send(.attach(attachment), on: channel, within: Self.sendingLimit)
    let missing = try receiveAll(from: channel, into: passed, within: limit)
    try watch(channel)
    state = .up(channel)
    renewLease()
    let microseconds = now.nanoseconds(since: began) / 1000
    log.info("received \(given.count.counted("descriptor")) from the keeper in \(microseconds) µs")
    return missing
  }

  private func receiveAll(
    from channel: KeeperChannel, into passed: PassedAtStart, within limit: Duration
  ) throws(KeeperChannel.Failure) -> Int {
    var receivedCount = 0
    while true {
      let next = try next(on: channel, within: limit)
      switch next.message {
      case .batch(let batch):
        let count = next.passed.count
        receivedCount += count
        passed.take(batch, next.passed)
        given.formUnion(batch)
        try send(.acknowledged(count: count), on: channel, within: Self.sendingLimit)
      case .end(let count):
        guard count == given.count else { throw .malformed("\(given.count) of \(count) items came") }
        return count - receivedCount
      // The keeper has nothing for this bus.
      case .acknowledged: return 0
      // The keeper asks this bus again to leave when it has given everything.
      case .leaving: break
      case .attach, .forget, .finished, .yieldRequest, .yielded, .ready, .refusal:
        throw .malformed("unexpected message from the keeper")
      }
    }
  }

  /// Sends a message, also if the system lacks memory for it at first.
  private func send(
    _ message: KeeperMessage, on channel: KeeperChannel, within limit: Duration
  ) throws(KeeperChannel.Failure) {
    let deadline = ContinuousClock.now + limit
    while try !channel.send(message) {
      guard ContinuousClock.now < deadline else { throw .failed(.timedOut) }
      Thread.sleep(milliseconds: Self.pauseMilliseconds)
    }
  }

  private struct Next: ~Copyable {
    let message: KeeperMessage
    let passed: PassedDescriptors
  }

  /// Waits for the next message.
  private func next(on channel: KeeperChannel, within limit: Duration) throws(KeeperChannel.Failure) -> Next {
    while true {
      if case .message(let message, let passed) = try channel.receive() {
        if case .refusal(let reason) = message { throw .refused(reason) }
        return Next(message: message, passed: passed)
      }
      guard try channel.wait(atMost: limit) else { throw .failed(.timedOut) }
    }
  }

  /// Waits for one message. Ignores `leaving`: a keeper that must end says so again when either bus has the place.
  private func expect(
    _ message: KeeperMessage, on channel: KeeperChannel, within limit: Duration
  ) throws(KeeperChannel.Failure) {
    while true {
      switch try next(on: channel, within: limit).message {
      case message: return
      case .leaving: continue
      default: throw .malformed("unexpected message from the keeper")
      }
    }
  }

  // MARK: Going

  /// Waits until the keeper has acknowledged every message, for `limit` at most. A bus that was asked for its place
  /// waits only for the keeper that has asked.
  ///
  /// - Returns: whether the keeper has everything.
  func flush(within limit: Duration) -> Bool {
    isHandingOver = true
    defer { isHandingOver = false }
    let deadline = ContinuousClock.now + limit
    let isAccepted = yieldRequest == .accepted
    while ContinuousClock.now < deadline, !isAccepted || yieldRequest == .accepted {
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

  /// Has the keeper forget connections that it may have taken without acknowledging them. Does not wait for its answer.
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

  /// The bus that wants the place is to get it.
  func acceptRequest() { yieldRequest = .accepted }

  /// Refuses to give the bus's place to the one that wants it.
  func refusePlace(because reason: String) {
    defer { yieldRequest = .none }
    guard yieldRequest != .none, case .up(let channel) = state else { return }
    do throws(KeeperChannel.Failure) {
      _ = try channel.send(.refusal(reason))
    } catch {
      leave(because: "\(error)")
    }
  }

  /// Gives the bus's place to the one that wants it. The keeper must have everything by now.
  ///
  /// - Throws: if this bus must continue.
  func givePlace() throws(KeeperChannel.Failure) {
    guard yieldRequest == .accepted, case .up(let channel) = state else { throw .ended }
    yieldRequest = .none
    do throws(KeeperChannel.Failure) {
      try send(.yielded, on: channel, within: Self.sendingLimit)
      try expect(.finished, on: channel, within: Self.yieldingLimit)
    } catch {
      if case .refused = error { throw error }
      // After this, the keeper cannot send that the place is lost, but it may have sent that just before.
      sendFinished(on: channel)
      channel.hangUp()
      let isFinished = receivesFinished(on: channel)
      leave(because: "\(error)", isExpected: isFinished)
      if !isFinished { throw error }
    }
  }

  private func receivesFinished(on channel: KeeperChannel) -> Bool {
    do throws(KeeperChannel.Failure) {
      while case .message(let message, _) = try channel.receive() {
        if message == .finished { return true }
      }
      return false
    } catch {
      return false
    }
  }
}
