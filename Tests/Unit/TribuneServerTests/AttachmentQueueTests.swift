// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import TribuneServer

@Suite("Attachments in the outbound queue", .timeLimit(.minutes(15)))
struct AttachmentQueueTests {
  @Test("An attachment counts with its length, until the first byte of its frame has been sent")
  func weight() {
    var traffic = QueuedTraffic()
    traffic.queue(.post, 0)
    let plain = traffic.queue.byteCount
    traffic.queue(.post, 1, attached: 1000)
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
    var traffic = QueuedTraffic()
    for number in 0..<6 { traffic.queue(.post, number, attached: number == 2 || number == 3 ? 100 : nil) }
    var sends: [[Int]] = []
    while !traffic.queue.isEmpty { sends.append(traffic.send(.max)) }
    #expect(sends == [[], [2], [3]])
    #expect(traffic.received == (0..<6).map(String.init))
  }

  @Test("A dropped frame releases its attachment, and a partly sent frame stays")
  func dropping() {
    var traffic = QueuedTraffic()
    for number in 0..<5 { traffic.queue(.post, number, attached: 1 << 20) }
    #expect(traffic.send(1) == [0])
    #expect(traffic.openCount == 5)
    #expect(traffic.queue.dropOldest(downTo: 1 << 20) == 4)
    #expect(traffic.openCount == 1)
    #expect(traffic.queue.byteCount < 200)
    #expect(traffic.queue.lostCount == 4)
    #expect(traffic.send(.max) == [])
    #expect(traffic.openCount == 0)
  }
}
