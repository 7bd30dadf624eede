// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneSystem
import TribuneWire

@testable import Tribune

@Suite(.timeLimit(.minutes(15)))
struct HostileBusTests {
  struct Rubbish: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bytes: [UInt8]

    init(_ what: String, _ write: (ByteBuffer) -> Void) {
      testDescription = what
      let buffer = ByteBuffer(capacity: 64)
      write(buffer)
      bytes = [UInt8](buffer.bytes)
    }

    init<F: FrameFields>(
      _ what: String, _ fields: F, cut: Int = 0, serial: Serial = 0, name: String = "", payload: [UInt8] = []
    ) {
      self.init(what) { buffer in
        let whole = ByteBuffer(capacity: 64)
        fields.append(to: whole)
        var header = FrameHeader(
          kind: F.kind, serial: serial, fieldsLength: whole.count - cut, nameLength: name.utf8.count,
          payloadLength: payload.count)
        header.flags = []
        header.append(to: buffer)
        buffer.append(whole.bytes(in: 0..<whole.count - cut))
        buffer.append(name)
        buffer.append(payload.rawBytes)
      }
    }
  }

  static let question = TribuneWire.Question(
    query: QueryID(rawValue: 1), delegate: DelegateID(rawValue: 1), timeout: 1, asker: identity(0, "").peer)

  static let rubbish = [
    Rubbish("a length shorter than a header") {
      var header = FrameHeader(kind: .post, serial: 1)
      header.frameLength = 31
      header.append(to: $0)
    },
    Rubbish("zeros") { $0.append([UInt8](repeating: 0, count: 64).rawBytes) },
    Rubbish("ones") { $0.append([UInt8](repeating: 0xFF, count: 64).rawBytes) },
    Rubbish("a payload over any limit") {
      FrameHeader(kind: .post, serial: 1, payloadLength: 3 << 30).append(to: $0)
    },
    Rubbish("lengths that do not fit each other") {
      var header = FrameHeader(kind: .post, serial: 1)
      header.fieldsLength = 1000
      header.append(to: $0)
    },
    Rubbish("an error without a code", Refusal(.notFound), cut: 1),
    Rubbish("an ok that ends early", Okay(), cut: 5),
    Rubbish("a verdict that ends early", Self.verdict(1), cut: 1),
    Rubbish("a verdict that promises more than it has") { buffer in
      buffer.appendFrame(Self.verdict(0), serial: 1)
      buffer.store(UInt32.max, at: FrameHeader.length + 10)
    },
    Rubbish("a verdict of no known kind") { buffer in
      buffer.appendFrame(Self.verdict(0), serial: 1)
      buffer.store(UInt8(9), at: FrameHeader.length + 8)
    },
    Rubbish("a question without a name", question),
    Rubbish("a question that ends early", question, cut: 3, name: "a"),
    Rubbish("a notification without a name", Post()),
    Rubbish("a notification whose name is none", Post(), name: "a..b"),
    Rubbish("what is retained, without a name", Retained(age: 1), serial: 1),
    Rubbish("what is retained, cut short", Retained(age: 1), cut: 2, serial: 1, name: "a"),
    Rubbish("who was waited for, cut short", awaited, cut: 1, serial: 1),
    Rubbish("more to wait for than there is") { buffer in
      buffer.appendFrame(Self.awaited, serial: 1)
      buffer.store(UInt32.max, at: FrameHeader.length + 4)
    },
    Rubbish("an entry of no known kind") { buffer in
      buffer.appendFrame(Entry.bus(BusEntry()), serial: 1)
      buffer.store(UInt8(200), at: FrameHeader.length)
    },
    Rubbish("traffic that is no frame", traffic, payload: [1, 2, 3]),
    Rubbish("traffic that is half a frame", traffic, payload: [UInt8](repeating: 40, count: 32)),
    Rubbish("a frame that only clients send", Observe(), serial: 1),
    Rubbish("a second welcome", welcome),
    Rubbish("a critical frame of an unknown kind") { buffer in
      var header = FrameHeader(kind: .post, flags: .critical, serial: 1)
      header.rawKind = 250
      header.append(to: buffer)
    },
  ]

  static func verdict(_ count: Int) -> TribuneWire.Verdict {
    TribuneWire.Verdict(
      query: QueryID(rawValue: 1), verdict: .allowed, isUnanswered: false,
      outcomes: (0..<count).map { _ in
        .init(delegate: identity(1, "x"), outcome: .approved, reason: "", elapsed: 1)
      })
  }

  static let awaited = Awaited(
    acknowledged: 1,
    missing: [
      .init(
        connection: ConnectionID(rawValue: 3), peer: identity(0, "").peer, failure: .gone, reason: "",
        elapsed: 1)
    ])

  static let traffic = TribuneWire.Traffic(time: 0, from: .bus, to: .bus, receivers: 0)

  static let welcome = Welcome(
    connection: ConnectionID(rawValue: 1), payloadMax: 0, observationsMax: 0, delegatesMax: 0, queriesMax: 0,
    deadlineMax: 0, deadlineDefault: 0, busPID: 0, software: "")

  @Test(arguments: rubbish, [false, true])
  func rubbishEndsTheConnectionWithATypedError(rubbish: Rubbish, byteByByte: Bool) async throws {
    try await conversation(reconnectingFor: .zero) { peer in
      try peer.confirmObservation()
      _ = try peer.next(.ask)
      if byteByByte {
        // The client may have left before the last byte.
        do {
          for byte in rubbish.bytes { try peer.send([byte]) }
        } catch let error as Errno {
          #expect(error.isDisconnection)
        }
      } else {
        try peer.send(rubbish.bytes)
      }
    } client: { connection in
      let notifications = try await connection.observe()
      let error = await failure { try await connection.ask("a") }
      #expect(error?.code == .protocolViolation)
      #expect(await connection.closed() == error)
      var iterator = notifications.makeAsyncIterator()
      let ending = await failure { try await iterator.next() }
      #expect(ending == error)
    }
  }

  @Test func aBusThatNoLongerReadsIsLost() async throws {
    let (ended, asked) = (Gate(), Gate())
    try await conversation(reconnectingFor: .zero, busEndsFirst: true) { peer in
      peer.endReading()
      ended.open()
      asked.wait()
    } client: { connection in
      await ended.opened()
      #expect(await failure { try await connection.ask("a") }?.code == .connectionLost)
      #expect(await connection.closed()?.code == .connectionLost)
      asked.open()
    }
  }

  @Test func repliesThatNobodyWaitsForAreIgnored() async throws {
    try await conversation { peer in
      try peer.send(Okay(registration: 5, delegate: 6), serial: 1000)
      try peer.send(Refusal(.notAsked), serial: 1000, text: "nobody waits")
      try peer.send(Self.verdict(1), serial: 1000)
      try peer.send(Self.question, serial: 1000, name: "a")
      try peer.send(
        Concluded(query: QueryID(rawValue: 1), delegate: DelegateID(rawValue: 1), conclusion: .allowed),
        serial: 1000)
      try peer.send(Entry.bus(BusEntry()), serial: 1000)
      try peer.send(Lost(count: .max))
      try peer.post("nobody.observes")
      var header = FrameHeader(kind: .post, serial: 1)
      header.rawKind = 250
      let unknown = ByteBuffer(capacity: 64)
      header.append(to: unknown)
      try peer.send(unknown)
      try peer.send(Self.awaited, serial: 1000)
      let post = try peer.next(.post)
      try peer.send(Self.awaited, serial: post.serial)
      try peer.send(Okay(), serial: post.serial)
    } client: { connection in
      try await connection.postAcknowledged("ping")
    }
  }

  @Test func aLongFrameArrivesInPiecesOfAnySize() async throws {
    let text = String(repeating: "0123456789", count: 30_000)
    try await conversation { peer in
      try peer.confirmObservation()
      let out = ByteBuffer(capacity: 64)
      for number in 0..<5 {
        out.appendFrame(Post(), serial: 1, name: "a", text: "\(number)")
        out.appendFrame(Post(), serial: 1, name: "a", text: text)
      }
      let bytes = [UInt8](out.bytes)
      var start = 0
      var piece = 1
      while start < bytes.count {
        let end = min(bytes.count, start + piece)
        try peer.send(Array(bytes[start..<end]))
        start = end
        piece = piece * 3 % 70_001
      }
    } client: { connection in
      var iterator = try await connection.observe("a").makeAsyncIterator()
      for number in 0..<5 {
        #expect(try await iterator.next()?.text == "\(number)")
        #expect(try await iterator.next()?.text == text)
      }
    }
  }
}
