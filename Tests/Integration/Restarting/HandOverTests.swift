// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneServer
import TribuneSystem
import TribuneWire

@Suite("Handing over", .timeLimit(.minutes(15)))
struct HandOverTests {
  private let bus: RestartedBus

  init() throws { bus = try RestartedBus() }

  @Test("connections that never say hello can end during a compaction")
  func garbage() throws {
    let bus = try RestartedBus(configuration: "[Bus]\nLogMax=1M\n")
    let (rounds, pairs) = (40, 40)
    let pattern = "load.\(String(repeating: "x", count: 200))"
    // Each is closed in another loop iteration, and a compaction takes fewer of them than a round.
    let silent = try (0..<rounds * 8).map { _ in try RawClient(bus) }
    // The bus has accepted them once it serves a later one.
    try RawClient.greeted(bus).settle()
    try bus.end(.planned)
    let state = try bus.withKept { try FileDescriptor.duplicate(of: $0.descriptor(.log)) }
    try bus.start()
    let churning = try RawClient.greeted(bus)
    for (index, client) in silent.enumerated() {
      if index % 8 == 0 {
        try churning.send {
          for _ in 0..<pairs {
            $0.appendFrame(Observe(), serial: 1, name: pattern)
            $0.appendFrame(Cancel(target: 1), serial: 2)
          }
        }
        try churning.settle()
      }
      try client.send(Array("GET / HTTP/1.0\r\n\r\n".utf8))
      _ = try client.readHello()
      try client.expectClosed(with: .badMagic)
    }
    // The log has been compacted: each pair takes two entries with a frame, without the bus's replies.
    let written = rounds * pairs * (pattern.utf8.count + 2 * (32 + 16 + FrameHeader.length))
    #expect(try SavedLog(of: state.rawValue).log.count < written)
    try bus.restart()
    try churning.settle()
  }

  @Test("a client whose partial frame is not kept learns that after the frame that is being sent")
  func refusedAfterwards() throws {
    let observer = try RawClient.observing("load.*", on: bus)
    let payload = String(repeating: "x", count: 1_500_000)
    try RawClient.greeted(bus).sendConfirmed(Post(), serial: 1, name: "load.unit", text: payload)
    let frame = RawClient.bytes {
      $0.appendFrame(Post(), serial: 1, name: "load.unit", text: String(repeating: "y", count: 120_000))
    }
    try observer.send(Array(frame.prefix(40_000)))
    try RawClient.greeted(bus).settle()
    try bus.folder.write("[Bus]\nPayloadMax=64K\nPartialFramesMemoryMax=64K\n", to: "etc/tribuned.conf")
    try bus.restart()
    #expect(try observer.next(.post).payload == payload)
    try observer.expectClosed(with: .restarted)
  }
}
