// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

@Suite("The outbound queue", .timeLimit(.minutes(15)))
struct OutboundQueueTests {
  @Test("Frames that are adjacent in memory are sent as one piece, others are not")
  func merging() {
    var traffic = QueuedTraffic(posts: 10)
    #expect(traffic.pieceCount == 1)
    traffic.queue(.verdict, 10)
    traffic.queue(.post, 11)
    #expect(traffic.pieceCount == 3)
    traffic.startNewBuffer()
    traffic.queue(.post, 12)
    #expect(traffic.pieceCount == 4)
  }

  @Test("The unsent part is offered from the kernel's last position, up to the requested length")
  func offering() {
    var traffic = QueuedTraffic()
    for number in 0..<3 {
      traffic.startNewBuffer()
      traffic.queue(.post, number)
    }
    let all = traffic.unsent
    traffic.send(10)
    #expect(traffic.unsent == Array(all[10...]))
    var offered = 0
    traffic.queue.forEachUnsent { _, _ in
      offered += 1
      return offered < 2
    }
    #expect(offered == 2)
  }

  @Test("A count stands in the place of dropped frames, before the count of later losses")
  func lostTwice() {
    var traffic = QueuedTraffic(posts: 4)
    let length = traffic.queue.byteCount / 4
    traffic.queue.appendLost(7)
    traffic.queue(.post, 4)
    traffic.queue.dropOldest(downTo: traffic.queue.byteCount - 2 * length)
    #expect(traffic.received == ["lost 2", "2", "3", "lost 7", "4"])
    traffic.queue.dropOldest(downTo: length)
    let lost = traffic.received.compactMap { $0.hasPrefix("lost ") ? Int($0.dropFirst(5)) : nil }
    #expect(lost.reduce(0, +) + traffic.received.count { !$0.hasPrefix("lost ") } == 12)
  }

  @Test(
    "The oldest notifications are dropped whole, as few as necessary, and a count replaces them",
    arguments: [(10, 4 * 33, 6), (3, 3 * 33 - 1, 1), (3, 3 * 33, 0), (3, 3 * 33 + 1, 0), (0, 0, 0)])
  func dropping(count: Int, target: Int, dropped: Int) {
    var traffic = QueuedTraffic(posts: count)
    #expect(traffic.queue.byteCount == count * 33)
    #expect(traffic.queue.dropOldest(downTo: target) == UInt64(dropped))
    #expect(traffic.queue.lostCount == UInt64(dropped))
    let kept = (dropped..<count).map(String.init)
    #expect(traffic.received == (dropped > 0 ? ["lost \(dropped)"] : []) + kept)
  }

  @Test("The cost of a drop does not grow with the length of the queue", arguments: [0, 1 << 16])
  func dropCost(target: Int) {
    var traffic = QueuedTraffic()
    let rounds = 5000
    for number in 0..<rounds {
      traffic.queue(target == 0 ? .verdict : .post, number)
      if target > 0 { traffic.startNewBuffer() }
      traffic.queue(.post, number)
      traffic.queue.dropOldest(downTo: target)
    }
    #expect(traffic.queue.lostCount >= rounds)
    #expect(traffic.queue.dropEffort < 10 * rounds)
  }

  @Test("Settling joins frames that drops had separated")
  func gaps() {
    let pool = BufferPool(bufferCapacity: 65_536, keptMax: 16)
    var traffic = QueuedTraffic()
    for number in 0..<300 {
      traffic.queue(.verdict, number)
      traffic.queue(.post, number, payloadLength: 5000)
      traffic.queue.consolidate(with: pool)
      traffic.queue.dropOldest(downTo: 0)
    }
    traffic.queue.consolidate(with: pool)
    #expect(traffic.pieceCount < 10)
    #expect(traffic.received.count == 301)
  }

  enum Step {
    case posts(Int)
    case verdict, drop
    case send(Int)
  }

  @Test(
    "A loss comes after all earlier frames, and adds up with the previous one until that begins to be sent",
    arguments: [
      ([.posts(4), .drop, .posts(2), .drop, .posts(2)], ["lost 6", "6", "7"]),
      ([.posts(4), .drop, .send(35), .posts(3), .drop, .posts(1)], ["lost 4", "lost 3", "7"]),
      ([.posts(1), .drop, .send(.max), .posts(1), .drop], ["lost 1", "lost 1"]),
      ([.posts(1), .verdict, .posts(2), .send(5), .drop], ["0", "verdict 1", "lost 2"]),
    ] as [([Step], [String])])
  func losses(steps: [Step], received: [String]) {
    var traffic = QueuedTraffic()
    var queued = 0
    for step in steps {
      switch step {
      case .posts(let count):
        for number in queued..<queued + count { traffic.queue(.post, number) }
        queued += count
      case .verdict:
        traffic.queue(.verdict, queued)
        queued += 1
      case .drop: traffic.queue.dropOldest(downTo: 0)
      case .send(let count): traffic.send(count)
      }
    }
    #expect(traffic.received == received)
    let lost = received.compactMap { $0.hasPrefix("lost ") ? UInt64($0.dropFirst(5)) : nil }
    #expect(traffic.queue.lostCount == lost.reduce(0, +))
  }

  @Test("Short frames from many buffers go out in one piece, except the first")
  func copying() {
    var traffic = QueuedTraffic()
    traffic.pool = BufferPool(bufferCapacity: 4_096, keptMax: 4)
    for number in 0..<20 {
      traffic.queue(.post, number, payloadLength: 40)
      traffic.startNewBuffer()
    }
    #expect(traffic.pieceCount == 2)
    traffic.queue(.verdict, 20)
    traffic.queue(.post, 21, payloadLength: 2_000)
    traffic.queue(.post, 22)
    #expect(traffic.received == (0..<20).map(String.init) + ["verdict 20", "21", "22"])
  }

  @Test("A short frame goes out in one piece with the one before it in memory")
  func adjacent() {
    var traffic = QueuedTraffic()
    traffic.pool = BufferPool(bufferCapacity: 4_096, keptMax: 4)
    traffic.queue(.verdict, 0)
    traffic.queue(.verdict, 1)
    #expect(traffic.pieceCount == 1)
    traffic.queue(.post, 2)
    traffic.startNewBuffer()
    traffic.queue(.post, 3)
    #expect(traffic.pieceCount == 2)
    traffic.send(50)
    traffic.queue(.verdict, 4)
    #expect(traffic.received == ["verdict 0", "verdict 1", "2", "3", "verdict 4"])
  }

  @Test("A short queue copies only into free buffers of the pool")
  func copyingInMany() {
    let pool = BufferPool(bufferCapacity: 4_096, keptMax: 1)
    let taken = pool.take()
    var traffic = QueuedTraffic()
    traffic.pool = pool
    for number in 0..<10 {
      traffic.queue(.post, number)
      traffic.startNewBuffer()
    }
    #expect(traffic.pieceCount == 10)
    traffic.queue(.post, 10, payloadLength: 1_000)
    for number in 11..<30 {
      traffic.startNewBuffer()
      traffic.queue(.post, number)
    }
    #expect(traffic.pieceCount < 15)
    #expect(traffic.received == (0..<30).map(String.init))
    #expect(taken.count == 0)
  }

  @Test("Settling changes no waiting byte, wherever sending stopped")
  func settling() {
    let pool = BufferPool(bufferCapacity: 65_536, keptMax: 16)
    for count in [0, 1, 33, 50, 100, 5000] {
      var traffic = QueuedTraffic()
      for number in 0..<60 {
        traffic.queue(number % 7 == 3 ? .verdict : .post, number, payloadLength: number == 30 ? 9000 : 40)
        if number % 10 == 0 { traffic.startNewBuffer() }
      }
      traffic.send(count)
      let waiting = traffic.unsent
      traffic.queue.consolidate(with: pool)
      #expect(traffic.unsent == waiting)
      traffic.queue.consolidate(with: pool)
      #expect(traffic.unsent == waiting)
      traffic.queue(.post, 60)
      traffic.queue(.verdict, 61)
      traffic.queue.consolidate(with: pool)
      #expect(Array(traffic.unsent.prefix(waiting.count)) == waiting)
      #expect(traffic.queue.byteCount == traffic.unsent.count)
    }
  }

  @Test("Settling releases the buffer of a frame's arrival")
  func settlingReleases() {
    let pool = BufferPool(bufferCapacity: 65_536, keptMax: 16)
    var queue = OutboundQueue()
    weak var received: ByteBuffer?
    do {
      let buffer = ByteBuffer(capacity: 65_536)
      buffer.appendFrame(Post(), serial: 1, name: "a")
      queue.append(ByteSlice(buffer, 0..<buffer.count), isNotification: true)
      received = buffer
    }
    #expect(received != nil)
    queue.consolidate(with: pool)
    #expect(received == nil)
    #expect(queue.byteCount == 33)
  }

  @Test("An emptied queue is like a new one, except for its loss count")
  func removingAll() {
    var traffic = QueuedTraffic(posts: 4)
    traffic.queue.dropOldest(downTo: 0)
    traffic.send(7)
    for kind in [FrameKind.verdict, .post] { traffic.queue(kind, 5) }
    traffic.queue.removeAll()
    #expect(traffic.queue.isEmpty && traffic.queue.byteCount == 0 && traffic.queue.lostCount == 4)
    #expect(traffic.counted == QueuedTraffic.Unread(notifications: 0, lost: 0, others: 0, isMidFrame: false))
    traffic.sent = []
    traffic.queue(.post, 9)
    #expect(traffic.received == ["9"])
  }

  @Test("Consuming more than the queue has stops the process")
  func overconsuming() async {
    await #expect(processExitsWith: .failure) {
      var queue = OutboundQueue()
      queue.consume(1)
    }
  }

  @Test(
    "Under random operations, the reader gets each frame with its file, or learns that it was lost",
    arguments: Seeds.all, [false, true])
  func simulation(seed: UInt64, hasFiles: Bool) {
    var random = SplitMix64(seed: seed)
    let pool = BufferPool(bufferCapacity: 2_048, keptMax: 2)
    var traffic = QueuedTraffic()
    var posted = 0
    var verdicts: [String] = []
    var (attached, files): (Set<Int>, [Int]) = ([], [])
    for number in 0..<3000 {
      switch Int.random(in: 0..<12, using: &random) {
      case 0...5:
        let length = random.oneIn(50) ? 9000 : Int.random(in: 0...60, using: &random)
        let file = hasFiles && random.oneIn(3) ? Int.random(in: 1...100_000, using: &random) : nil
        traffic.queue(.post, number, payloadLength: length, attached: file)
        if file != nil { attached.insert(number) }
        posted += 1
      case 6:
        traffic.queue(.verdict, number)
        verdicts.append("verdict \(number)")
      case 7:
        traffic.startNewBuffer()
        traffic.pool = Bool.random(using: &random) ? pool : nil
      case 8: traffic.queue.consolidate(with: pool)
      case 9:
        let before = traffic.queue.byteCount
        let target = Int.random(in: 0...max(1, before), using: &random)
        let lost = traffic.queue.lostCount
        let dropped = traffic.queue.dropOldest(downTo: target)
        #expect(traffic.queue.lostCount == lost + dropped)
      default: files += traffic.send(Int.random(in: 1...(random.oneIn(5) ? 5000 : 200), using: &random))
      }
      #expect(hasFiles || traffic.queue.byteCount == traffic.unsent.count)
      #expect(traffic.queue.byteCount >= traffic.openLength)
      #expect(traffic.queue.isEmpty == (traffic.queue.byteCount == 0))
    }
    while !traffic.queue.isEmpty { files += traffic.send(.max) }
    #expect(traffic.queue.byteCount == 0 && traffic.openCount == 0)
    let received = traffic.received
    let posts = received.compactMap(Int.init)
    let lost = received.filter { $0.hasPrefix("lost ") }.compactMap { Int($0.dropFirst(5)) }
    #expect(posts == posts.sorted() && Set(posts).count == posts.count)
    #expect(posts.count + lost.reduce(0, +) == posted)
    #expect(lost.reduce(0, +) == Int(traffic.queue.lostCount))
    #expect(received.filter { $0.hasPrefix("verdict ") } == verdicts)
    #expect(files == posts.filter(attached.contains))
  }
}
