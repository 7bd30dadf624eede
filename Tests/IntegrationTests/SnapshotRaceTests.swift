// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// What is retained, and what is posted meanwhile, on one stream: byte by byte as the bus writes it.
@Suite("Snapshots that race posts", .timeLimit(.minutes(1)))
struct SnapshotRaceTests {
  /// What one subscription has heard.
  private struct Stream {
    let isCleared: Bool
    var last: Int?
    var snapshotCount = 0
    var isConfirmed = false
    var changeCount = 0

    mutating func hear(_ frame: RawClient.Frame, _ serial: Serial) throws {
      switch frame.kind {
      case .retained:
        #expect(!isConfirmed && frame.header.serial == serial, "the snapshot comes before the ok")
        last = Int(frame.payload)
        #expect(last != nil)
        snapshotCount += 1
      case .ok:
        #expect(frame.header.serial == serial && !isConfirmed)
        isConfirmed = true
        #expect(snapshotCount == 1 || (isCleared && snapshotCount == 0))
      case .post:
        #expect(isConfirmed, "a change comes before the ok")
        let number = Int(frame.header.serial)
        if let last {
          #expect(number == last + 1)
        } else {
          // Nothing was retained: it had been cleared, and it is set next.
          #expect(!number.isMultiple(of: 2))
        }
        last = number
        changeCount += 1
      default: Issue.record("a frame of kind \(frame.header.rawKind)")
      }
    }
  }

  @Test(
    "each of ten thousand subscriptions hears what is retained and then each change, none twice and none missing",
    arguments: [false, true])
  func race(isCleared: Bool) throws {
    let bus = try TestBus()
    let observers = try (0..<5).map { _ in try RawClient.greeted(bus) }
    try PostingThread.run(on: bus) { buffer, number in
      // Every other clears, where that is raced.
      let text = isCleared && number.isMultiple(of: 2) ? "" : "\(number)"
      buffer.appendFrame(
        Post(options: .retain), flags: .acknowledge, serial: number, name: "counter.didCount",
        object: "counter/1", text: text)
    } during: {
      for round in 0..<2000 {
        let serial = Serial(2 * round + 1)
        let pattern = round.isMultiple(of: 2) ? "counter.*" : "**"
        for observer in observers {
          try observer.send(Observe(options: .retained), serial: serial, name: pattern)
        }
        for observer in observers {
          var stream = Stream(isCleared: isCleared)
          while stream.changeCount < 2 { try stream.hear(try observer.next(), serial) }
          try observer.send(Cancel(target: serial), serial: serial + 1)
          while true {
            let frame = try observer.next()
            if frame.kind == .ok, frame.header.serial == serial + 1 { break }
            try stream.hear(frame, serial)
          }
        }
      }
    }
    for observer in observers { try observer.expectSilence() }
  }
}
