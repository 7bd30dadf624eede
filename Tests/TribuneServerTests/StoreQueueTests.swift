// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneServer
import TribuneTestSupport

/// A descriptor of which can be told whether anybody still holds a copy.
private final class Watched {
  private let reader: CInt
  /// Not owned: whoever it was given to closes it.
  let descriptor: CInt

  init() throws {
    var ends: [CInt] = [-1, -1]
    let result = unsafe pipe(&ends)
    try #require(result == 0)
    (reader, descriptor) = (ends[0], ends[1])
    // Others of this process start programs, which are to hold neither.
    for end in ends { try #require(fcntl(end, F_SETFD, FD_CLOEXEC) == 0) }
    try #require(fcntl(reader, F_SETFL, O_NONBLOCK) == 0)
  }

  deinit { close(reader) }

  var isClosed: Bool {
    var byte: UInt8 = 0
    return unsafe read(reader, &byte, 1) == 0
  }
}

/// A queue, and what the manager was sent from it.
private struct QueueUnderTest {
  var queue: StoreQueue
  let capacity: Int
  private(set) var sent: [StoreMessage] = []
  private var watched: [CInt: Watched] = [:]

  init(held: Int = 0, capacity: Int = 1_000_000) {
    queue = StoreQueue(held: held)
    self.capacity = capacity
  }

  /// Queues a descriptor that the bus knows as `original`.
  @discardableResult
  mutating func store(_ name: StoredName, of original: CInt = 0) throws -> Watched {
    let watched = try Watched()
    self.watched[watched.descriptor] = watched
    queue.append(watched.descriptor, of: original, as: name)
    return watched
  }

  mutating func storeConnections(_ originals: Range<CInt>) throws {
    for original in originals { try store(.connection, of: original) }
  }

  /// Takes messages until there is something else to do.
  mutating func drain() -> StoreQueue.Step {
    while true {
      let step = queue.next(capacity: capacity, batchMax: 253)
      guard case .send(let message) = step else { return step }
      message.close()
      sent.append(message)
    }
  }

  var texts: [String] { sent.map { $0.text.replacing("\n", with: " ") } }
  var counts: [Int] { sent.map(\.descriptors.count) }
}

@Suite("The queue for the service manager's store", .timeLimit(.minutes(15)))
struct StoreQueueTests {
  @Test("sends connections that lie behind each other with one message, as many as one can take")
  func batches() throws {
    var bus = QueueUnderTest()
    try bus.storeConnections(0..<600)
    #expect(bus.drain() == .idle)
    #expect(bus.counts == [253, 253, 94])
    #expect(bus.texts.allSatisfy { $0 == "FDSTORE=1 FDNAME=c" })
  }

  @Test("sends the state ahead of what came before, and what is no connection unwatched")
  func order() throws {
    var bus = QueueUnderTest()
    try bus.storeConnections(0..<2)
    try bus.store(.file(1))
    try bus.storeConnections(2..<3)
    try bus.store(.file(36))
    bus.queue.removeState(count: 1)
    try bus.store(.state)
    #expect(bus.drain() == .idle)
    #expect(
      bus.texts == [
        "FDSTOREREMOVE=1 FDNAME=state", "FDSTORE=1 FDNAME=state FDPOLL=0", "FDSTORE=1 FDNAME=c",
        "FDSTORE=1 FDNAME=f1 FDPOLL=0", "FDSTORE=1 FDNAME=c", "FDSTORE=1 FDNAME=f10 FDPOLL=0",
      ])
    #expect(bus.counts == [0, 1, 2, 1, 1, 1])
  }

  @Test("takes a file out that was sent, and room is made before it is used")
  func removals() throws {
    var bus = QueueUnderTest(held: 2, capacity: 2)
    bus.queue.remove(named: "odd", count: 1)
    try bus.store(.state)
    #expect(bus.drain() == .idle)
    bus.queue.remove(file: 36)
    try bus.store(.file(37))
    #expect(bus.drain() == .idle)
    #expect(
      bus.texts == [
        "FDSTOREREMOVE=1 FDNAME=odd", "FDSTORE=1 FDNAME=state FDPOLL=0", "FDSTOREREMOVE=1 FDNAME=f10",
        "FDSTORE=1 FDNAME=f11 FDPOLL=0",
      ])
  }

  @Test("does not send what was taken back before, and closes it")
  func takenBack() throws {
    var bus = QueueUnderTest()
    let gone = try bus.store(.connection, of: 7)
    try bus.store(.connection, of: 8)
    let goneFile = try bus.store(.file(5))
    bus.queue.forget(connection: 7)
    bus.queue.remove(file: 5)
    #expect(gone.isClosed && goneFile.isClosed)
    // Its number is the next one's.
    let next = try bus.store(.connection, of: 7)
    #expect(!next.isClosed)
    #expect(bus.drain() == .idle)
    #expect(bus.texts == ["FDSTORE=1 FDNAME=c"])
    #expect(bus.counts == [2])
  }

  @Test("sends nothing for whose room somebody has to leave first, until that is certain")
  func leaving() throws {
    var bus = QueueUnderTest(held: 1, capacity: 3)
    try bus.storeConnections(1..<3)
    #expect(bus.drain() == .idle)
    bus.queue.forget(connection: 1)
    try bus.storeConnections(3..<4)
    #expect(bus.drain() == .settle(leaving: 1))
    // One more hangs up meanwhile, which nothing is known of yet.
    bus.queue.forget(connection: 2)
    bus.queue.left(1)
    try bus.storeConnections(4..<5)
    #expect(bus.drain() == .settle(leaving: 1))
    #expect(bus.counts == [2, 1])
    bus.queue.left(1)
    #expect(bus.drain() == .idle)
    #expect(bus.counts == [2, 1, 1])
  }

  @Test("tells when all has been sent, once for everybody who waits for it")
  func flush() throws {
    var bus = QueueUnderTest()
    try bus.storeConnections(0..<1)
    let first = bus.queue.beginFlush()
    let second = bus.queue.beginFlush()
    #expect(bus.drain() == .flush(ticket: second))
    #expect(bus.counts == [1])
    bus.queue.flushDone = second
    #expect(first < second)
    #expect(bus.drain() == .idle)
    _ = bus.queue.beginFlush()
    bus.queue.endFlush()
    #expect(bus.drain() == .idle)
  }

  @Test("closes everything in the end, and what comes after it")
  func end() throws {
    var bus = QueueUnderTest()
    var all = [try bus.store(.connection, of: 1), try bus.store(.file(1)), try bus.store(.state)]
    bus.queue.end()
    all += [try bus.store(.connection, of: 2), try bus.store(.state)]
    bus.queue.remove(file: 7)
    for one in all { #expect(one.isClosed) }
    #expect(bus.drain() == .ended)
    #expect(bus.sent == [])
  }

  /// What the service manager would have, which drops who has hung up as late as it may.
  private struct ModelStore {
    let capacity: Int
    var connections: Set<Int> = []
    var files: Set<String> = []
    var hungUp: Set<Int> = []
    var refusedCount = 0
    /// Which connection a descriptor is of now: its number is that of another one later.
    var identities: [CInt: Int] = [:]

    var count: Int { connections.count + files.count }

    mutating func take(_ message: StoreMessage) {
      let name = message.text.split(separator: "FDNAME=")[1].split(separator: "\n")[0]
      if message.text.hasPrefix("FDSTOREREMOVE=1") { files.remove(String(name)) }
      for descriptor in message.descriptors {
        if count == capacity {
          refusedCount += 1
        } else if name == "c", let identity = identities[descriptor] {
          connections.insert(identity)
        } else {
          files.insert(String(name))
        }
      }
    }

    mutating func settle() {
      connections.subtract(hungUp)
      hungUp = []
    }
  }

  @Test("never sends more than the manager can take, whatever comes and goes", arguments: Seeds.all)
  func neverFull(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let capacity = Int.random(in: 1...20, using: &random)
    var store = ModelStore(capacity: capacity)
    var queue = StoreQueue(held: 0)
    // What the bus believes: which connection has which of its numbers.
    var connections: [CInt: Int] = [:]
    var lastConnection = 0
    var files: Set<UInt64> = []
    var lastFile: UInt64 = 0
    var freeNumbers: [CInt] = Array(0..<100)

    func work(_ stepsMax: Int) {
      for _ in 0..<stepsMax {
        switch queue.next(capacity: capacity, batchMax: 3) {
        case .send(let message):
          store.take(message)
          message.close()
        case .settle(let leaving):
          store.settle()
          queue.left(leaving)
        default: return
        }
      }
    }

    for _ in 0..<1_000 {
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1:
        guard connections.count + files.count < capacity else { continue }
        let copy = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        if random.oneIn(3) {
          lastFile += 1
          files.insert(lastFile)
          queue.append(copy, of: 1_000, as: .file(lastFile))
        } else {
          let number = freeNumbers.remove(at: Int.random(in: 0..<freeNumbers.count, using: &random))
          lastConnection += 1
          connections[number] = lastConnection
          store.identities[copy] = lastConnection
          queue.append(copy, of: number, as: .connection)
        }
      case 2:
        let sorted = connections.sorted { $0.key < $1.key }
        guard let (number, connection) = sorted.randomElement(using: &random) else { continue }
        connections[number] = nil
        freeNumbers.append(number)
        store.hungUp.insert(connection)
        queue.forget(connection: number)
      case 3:
        guard let number = files.sorted().randomElement(using: &random) else { continue }
        files.remove(number)
        queue.remove(file: number)
      default: work(Int.random(in: 1...4, using: &random))
      }
    }
    work(.max)
    store.settle()
    #expect(store.refusedCount == 0)
    #expect(store.files == Set(files.map { "\(StoredName.file($0))" }))
    #expect(store.connections == Set(connections.values))
  }
}
