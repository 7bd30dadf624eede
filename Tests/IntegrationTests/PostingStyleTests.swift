// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

/// When posts are delivered, and what happens to those that wait.
@Suite("Posting styles", .timeLimit(.minutes(1)))
struct PostingStyleTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private func observer(of pattern: String, _ fields: Observe = Observe()) throws -> RawClient {
    let observer = try RawClient.greeted(bus)
    try observer.sendConfirmed(fields, serial: 1, name: pattern)
    return observer
  }

  @Test("of the posts in one read, those for now come first, then those for soon, then those for an idle bus")
  func styles() throws {
    let observer = try observer(of: "a.*")
    let poster = try RawClient.greeted(bus)
    try poster.send {
      for number in 1...3 as ClosedRange<Serial> {
        $0.appendFrame(Post(style: .whenIdle), serial: 20 + number, name: "a.idle")
        $0.appendFrame(Post(style: .asSoonAsPossible), serial: 10 + number, name: "a.soon")
        $0.appendFrame(Post(options: number == 2 ? .immediately : []), serial: number, name: "a.now")
      }
    }
    #expect(try (0..<9).map { _ in try observer.next().header.serial } == [1, 2, 3, 11, 12, 13, 21, 22, 23])
    try observer.expectSilence()
  }

  @Test("a bus that is never idle still delivers posts for an idle bus, even after their poster has left")
  func neverIdle() throws {
    let observer = try observer(of: "idle.*")
    // The bus takes longer for new names than the thread for sending them.
    let bytes = RawClient.bytes { load in
      for number in 0..<4000 { load.appendFrame(Post(), serial: 1, name: "load.unit\(number)", text: "{}") }
    }
    try PostingThread.run(on: bus, unansweredMax: nil) { buffer, _ in
      buffer.append(bytes)
    } during: {
      let id: ConnectionID
      do {
        let (poster, welcome) = try RawClient.welcomed(bus)
        id = welcome.connection
        try poster.sendConfirmed(Post(style: .whenIdle), serial: 7, name: "idle.unit", text: "1")
      }
      // This client gets the poster's slot, and must not be taken for it.
      let next = try RawClient.greeted(bus)
      let frame = try observer.next()
      #expect(frame.header.sender == id)
      #expect(frame.header.serial == 7)
      try next.expectSilence()
    }
  }

  @Test("a bus that stops first delivers what waits or is buffered, and reports no departures")
  func stopping() throws {
    let observer = try observer(of: "a.*")
    let suspended = try self.observer(of: "a.*", Observe(suspension: .hold))
    try suspended.sendConfirmed(Suspend(isSuspended: true), serial: 2)
    let awaited = try self.observer(of: "b", Observe(options: .awaited))
    let waiting = try RawClient.greeted(bus)
    try waiting.send(Post(options: .awaited), serial: 1, name: "b")
    _ = try awaited.next(.post)
    let poster = try RawClient.greeted(bus)
    try poster.send(Post(), serial: 1, name: "a.now")
    try poster.settle()
    try bus.freeze()
    try poster.send {
      $0.appendFrame(Post(style: .whenIdle), serial: 3, name: "a.idle")
      $0.appendFrame(Post(style: .asSoonAsPossible), serial: 2, name: "a.soon")
    }
    bus.signal(SIGTERM)
    bus.signal(SIGCONT)
    for client in [observer, suspended] {
      let frames = try client.readToEnd()
      #expect(frames.filter { $0.kind == .post }.map(\.header.serial) == [1, 2, 3])
      #expect(frames.last?.kind == .error)
    }
    #expect(try waiting.readToEnd().map(\.kind) == [.error])
    #expect(bus.status() == 0)
  }
}
