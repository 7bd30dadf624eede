// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

@Suite("Attachments in the outbound queue", .timeLimit(.minutes(15)))
struct AttachmentQueueTests {
  @Test("An attachment counts with its length, until the first byte of its frame has been sent")
  func weight() {
    var traffic = AttachedTraffic()
    traffic.queue(0, attached: nil)
    let plain = traffic.queue.byteCount
    traffic.queue(1, attached: 1000)
    #expect(traffic.queue.byteCount == 2 * plain + 1000)
    traffic.send(plain)
    #expect(traffic.queue.byteCount == plain + 1000)
    traffic.send(1)
    #expect(traffic.queue.byteCount == plain - 1)
    traffic.send(.max)
    #expect(traffic.queue.byteCount == 0)
  }

  @Test("Each attachment begins a send, which goes on up to the next attachment")
  func sends() {
    var traffic = AttachedTraffic()
    for number in 0..<6 { traffic.queue(number, attached: number == 2 || number == 3 ? 100 : nil) }
    var sends: [[Int]] = []
    while !traffic.queue.isEmpty { sends.append(traffic.send(.max)) }
    #expect(sends == [[], [2], [3]])
    #expect(traffic.received == [0, 1, 2, 3, 4, 5])
  }

  @Test("A dropped frame releases its attachment, and a partly sent frame stays")
  func dropping() {
    var traffic = AttachedTraffic()
    for number in 0..<5 { traffic.queue(number, attached: 1 << 20) }
    #expect(traffic.send(1) == [0])
    #expect(traffic.openCount == 5)
    #expect(traffic.queue.dropOldest(downTo: 1 << 20) == 4)
    #expect(traffic.openCount == 1)
    #expect(traffic.queue.byteCount < 200)
    #expect(traffic.queue.lostCount == 4)
    #expect(traffic.send(.max) == [])
    #expect(traffic.openCount == 0)
  }

  @Test(
    "Under random operations, the byte count covers what waits, and each attachment comes with its frame",
    arguments: Seeds.all)
  func simulation(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var traffic = AttachedTraffic()
    let pool = BufferPool(bufferCapacity: 65_536, keptMax: 16)
    var attachments: [Int] = []
    var posted = 0
    for number in 0..<2000 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0...4:
        traffic.queue(number, attached: random.oneIn(3) ? Int.random(in: 1...100_000, using: &random) : nil)
        posted += 1
      case 5: traffic.queue.settle(with: pool)
      case 6:
        let target = Int.random(in: 0...max(1, traffic.queue.byteCount), using: &random)
        traffic.queue.dropOldest(downTo: target)
      default: attachments += traffic.send(Int.random(in: 1...500, using: &random))
      }
      #expect(traffic.queue.isEmpty == (traffic.queue.byteCount == 0))
      #expect(traffic.queue.byteCount >= traffic.openLength)
    }
    while !traffic.queue.isEmpty { attachments += traffic.send(.max) }
    #expect(traffic.queue.byteCount == 0)
    #expect(traffic.openCount == 0)
    let received = traffic.received
    #expect(received == received.sorted() && Set(received).count == received.count)
    #expect(received.count + Int(traffic.queue.lostCount) == posted)
    #expect(attachments == received.filter { traffic.attached.contains($0) })
  }
}

/// Stands for a file that is open during this object's life.
private final class OpenFile: AttachedFile {
  let number: Int
  let length: Int
  let rawDescriptor: Int32 = -1

  init(_ number: Int, length: Int) {
    self.number = number
    self.length = length
  }
}

/// A queue, frames with and without attachments, and the reader.
private struct AttachedTraffic: ~Copyable {
  private struct Reference {
    weak var file: OpenFile?
  }

  var queue = OutboundQueue()
  private var sent: [UInt8] = []
  private var files: [Reference] = []
  /// The numbers of the frames that had an attachment.
  private(set) var attached: Set<Int> = []

  var openCount: Int { files.count { $0.file != nil } }
  /// The numbers of the attachments that were sent.
  private(set) var sentNumbers: Set<Int> = []
  var openLength: Int {
    files.reduce(0) { $0 + ($1.file.map { sentNumbers.contains($0.number) ? 0 : $0.length } ?? 0) }
  }

  /// Queues a notification whose serial is `number`, with an attachment of that length, if any.
  mutating func queue(_ number: Int, attached length: Int?) {
    let file = length.map { OpenFile(number, length: $0) }
    if let file {
      files.append(Reference(file: file))
      attached.insert(number)
    }
    let buffer = ByteBuffer(capacity: 64, attachment: file)
    buffer.appendFrame(Post(), serial: Serial(number), name: "a")
    queue.append(ByteSlice(buffer, 0..<buffer.count), isNotification: true)
  }

  /// Lets the reader have at most `count` bytes of one send.
  ///
  /// - Returns: the numbers of the attachments that went along.
  @discardableResult
  mutating func send(_ count: Int) -> [Int] {
    var piece: [UInt8] = []
    var attachments: [Int] = []
    var isFirst = true
    queue.forEachUnsent { range, buffer in
      if let file = buffer.attachment as? OpenFile, range.lowerBound == 0 {
        #expect(isFirst, "an attachment does not begin its send")
        attachments.append(file.number)
      }
      isFirst = false
      piece += Array(buffer.bytes(in: range)).prefix(count - piece.count)
      return piece.count < count
    }
    sent += piece
    sentNumbers.formUnion(attachments)
    queue.consume(piece.count)
    return attachments
  }

  /// The numbers of the notifications that the reader has received.
  var received: [Int] {
    var traffic = QueuedTraffic()
    traffic.sent = sent
    return traffic.received.compactMap { $0.hasPrefix("lost ") ? nil : Int($0) ?? -1 }
  }
}
