// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@testable import Tribune

/// A client's state and streams, and a naive bus that obeys its `room`. All that is random comes from a seed.
@Suite struct FlowModelTests {
  @Test(arguments: 1...100 as ClosedRange<UInt64>)
  func aReaderThatGoesOnIsNeverStuckAndGetsAll(seed: UInt64) async throws {
    var model = FlowModel(seed: seed)
    for _ in 0..<600 { try await model.step() }
    try await model.readToEnd()
  }
}

private struct FlowModel {
  struct Sent {
    let number: Int
    let topic: Int
  }

  enum Frame {
    case post(Sent)
    case lost(Int)
  }

  final class Observer {
    let stream: DeliveryStream<Delivery>
    let topics: Set<Int>
    let first: Int
    /// The stream's own limit, or what the bus was granted before the stream was there.
    var bound: Int
    var delivered = 0
    var read: [Int] = []
    var lost = 0
    var lostByBus = 0
    /// How many were delivered before the reserved position.
    var readable: Int?

    init(_ stream: DeliveryStream<Delivery>, _ topics: Set<Int>, first: Int, bound: Int) {
      (self.stream, self.topics, self.first, self.bound) = (stream, topics, first, bound)
    }
  }

  private static let topics = 0..<3

  var random: SplitMix64
  var state: LinkState
  var observers: [Observer] = []
  var posted: [Sent] = []
  var dropped: Set<Int> = []
  // The bus's side of the connection.
  var queue: [Sent] = []
  var wire: [Frame] = []
  var sent = 0
  var limit: Int?
  // The client's side.
  var received = 0

  init(seed: UInt64) {
    random = SplitMix64(seed: seed)
    state = LinkState(reconnectTimeout: .seconds(1))
    _ = state.receive(welcome(1), acceptsFiles: true)
  }

  mutating func step() async throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<3 where observers.count < 4: try await observe()
    case 3 where observers.count > 1: end()
    case 4: try await reconnect()
    case 5: drop()
    case 6: pump(state.confirmRoom())
    case 7..<40: for _ in 0..<Int.random(in: 1...20, using: &random) { post() }
    case 40..<65: receive(upTo: Int.random(in: 1...30, using: &random))
    default: for _ in 0..<Int.random(in: 1...20, using: &random) { try await read() }
    }
    check()
  }

  /// Reads one element at a time, in any order. The bus is stuck if nothing is left to read, and yet it keeps something.
  mutating func readToEnd() async throws {
    if observers.isEmpty { return }
    while true {
      flush()
      receive(upTo: .max)
      // The thread may just have raised the limit, for notifications that no stream wants any more.
      guard observers.contains(where: \.hasUnread) || !wire.isEmpty else { break }
      try await read()
      check()
    }
    #expect(queue.isEmpty && wire.isEmpty, "the bus keeps \(queue.count) for a client that has read all")
    for observer in observers {
      let expected = posted.filter {
        $0.number >= observer.first && observer.topics.contains($0.topic) && !dropped.contains($0.number)
      }
      #expect(observer.read == expected.map(\.number))
      #expect(observer.lost == observer.lostByBus)
    }
  }

  func check() {
    guard let limit else { return }
    for observer in observers {
      #expect(observer.unread + max(limit - received, 0) <= observer.bound)
    }
  }

  // MARK: The bus

  mutating func post() {
    posted.append(Sent(number: posted.count, topic: Int.random(in: Self.topics, using: &random)))
    let post = posted[posted.count - 1]
    if observers.contains(where: { $0.topics.contains(post.topic) }) {
      queue.append(post)
      flush()
    } else {
      dropped.insert(post.number)
    }
  }

  mutating func flush() {
    while let first = queue.first, sent < limit ?? .max {
      wire.append(.post(first))
      queue.removeFirst()
      sent += 1
    }
  }

  mutating func drop() {
    guard !queue.isEmpty else { return }
    let count = Int.random(in: 1...queue.count, using: &random)
    dropped.formUnion(queue.prefix(count).map(\.number))
    queue.removeFirst(count)
    wire.append(.lost(count))
    sent += count
  }

  /// The bus reads all that the client has to write.
  mutating func pump(_ duty: Outbox.Duty) {
    var next = duty.batch
    while let batch = next ?? state.outbox.nextForThread() {
      next = nil
      _ = batch.moveUnsent(to: OutgoingBatch(PassedCount())) { frame in
        take(frame)
        return .dropped
      }
      _ = state.wrote(OutgoingBatch(PassedCount()), bytes: state.outbox.unwritten, .whole)
    }
  }

  mutating func take(_ frame: FrameView) {
    guard frame.header.kind == .room, let room = try? frame.decode(Room.self) else { return }
    #expect(room.limit >= limit ?? 0)
    limit = Int(room.limit)
    flush()
  }

  // MARK: The client

  mutating func receive(upTo count: Int) {
    for _ in 0..<min(count, wire.count) { deliver(wire.removeFirst()) }
    // The thread may be behind with its limit while others read.
    if count == .max || random.oneIn(3) { pump(state.receive(upTo: UInt64(received))) }
  }

  mutating func deliver(_ frame: Frame) {
    switch frame {
    case .post(let post):
      received += 1
      for stream in state.observers(name: "t\(post.topic)", object: "").streams {
        stream.deliver(.notification(Tribune.Notification("t\(post.topic)", object: "\(post.number)")))
      }
      for observer in observers where observer.topics.contains(post.topic) { observer.delivered += 1 }
    case .lost(let count):
      received += count
      for observer in observers {
        observer.lostByBus += count
        observer.stream.deliver(.lost(count))
      }
    }
  }

  mutating func read() async throws {
    let ready = observers.filter(\.hasUnread)
    guard let observer = ready.randomElement(using: &random) else { return }
    let (element, makesRoom) = try await observer.stream.next()
    switch element {
    case .notification(let notification): observer.read.append(try #require(Int(notification.object)))
    case .lost(let count): observer.lost += count
    case .interrupted, nil: Issue.record("an element of another kind")
    }
    if makesRoom { pump(state.raiseRoom()) }
  }

  mutating func observe() async throws {
    let stream = DeliveryStream<Delivery>(limit: [1, 2, 3, 4, 10, 100].randomElement(using: &random) ?? 1)
    let topics = Set(Self.topics.filter { _ in random.oneIn(2) }).union([0])
    let first = (wire.compactMap(\.number) + queue.map(\.number)).first ?? posted.count
    let granted = (limit ?? 0) - received
    for topic in topics.sorted() {
      let key = LinkState.ObservationKey(
        pattern: "t\(topic)", object: ExactText(""), suspension: .coalesce, isAwaited: false)
      let pattern = try Pattern("t\(topic)")
      _ = await Reply<Void>.wait { reply throws(TribuneError) -> Void? in
        let (isLive, duty) = try state.observe(key, pattern, into: stream, reply)
        pump(duty)
        guard !isLive else { return () }
        #expect(limit != nil, "the bus had to serve an observation without a limit")
        confirmAll(&state)
        return nil
      }
    }
    observers.append(Observer(stream, topics, first: first, bound: max(stream.limit, granted)))
  }

  mutating func end() {
    let observer = observers.remove(at: Int.random(in: observers.indices, using: &random))
    for duty in state.endObserving(observer.stream) { pump(duty) }
    observer.stream.finish(nil)
  }

  mutating func reconnect() async throws {
    guard !observers.isEmpty else { return }
    // All that was on the way arrives before the end.
    while !wire.isEmpty { receive(upTo: wire.count) }
    _ = state.endOfStream(received: UInt64(received))
    for _ in 0..<Int.random(in: 0...5, using: &random) { try await read() }
    apply(state.finishOldConnection() ?? [])
    (received, sent, limit) = (0, 0, nil)
    for observer in observers {
      observer.stream.reservePosition()
      observer.readable = observer.delivered
    }
    let renewal = state.beginRenewal().frames
    let frames = ByteBuffer(holding: renewal.rawBytes)
    if let header = FrameHeader.peek(frames.bytes, at: 0, limits: .fromBus) {
      take(FrameView(header, frames.bytes(in: 0..<header.frameLength)))
    }
    #expect(limit != nil, "a renewal does not begin with a limit")
    confirmAll(&state)
    receive(upTo: Int.random(in: 0...30, using: &random))
    for _ in 0..<Int.random(in: 0...5, using: &random) { try await read() }
    apply(state.reopen(at: .now)?.actions ?? [])
    for observer in observers {
      #expect(observer.stream.fillPosition(with: []))
      observer.readable = nil
    }
    pump(.none)
    pump(state.receive(upTo: UInt64(received)))
  }
}

extension FlowModel.Observer {
  var unread: Int { delivered - read.count }
  var hasUnread: Bool { read.count < readable ?? delivered || lost < lostByBus }
}

extension FlowModel.Frame {
  fileprivate var number: Int? { if case .post(let post) = self { post.number } else { nil } }
}
