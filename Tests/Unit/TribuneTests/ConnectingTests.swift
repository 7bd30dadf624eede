// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneSystem
import TribuneWire

@testable import Tribune

@Suite(.timeLimit(.minutes(15)))
struct ConnectingTests {
  @Test func aBusThatDoesNotListenIsUnreachable() async throws {
    let error = await failure { try await Connection.connect(to: Address(path: "/tmp/no-such-folder/bus")) }
    #expect(error?.code == .unreachable)
    #expect(error?.message.contains("/tmp/no-such-folder/bus") == true)
  }

  /// Otherwise, what needs a verdict could run without one.
  @Test(
    arguments: [
      (ENOENT, .unreachable), (ECONNREFUSED, .unreachable), (EACCES, .notPermitted), (EMFILE, .limitExceeded),
      (ENFILE, .limitExceeded), (ENOMEM, .limitExceeded), (ELOOP, .refused), (EPERM, .refused),
    ] as [(CInt, TribuneError.Code)])
  func aFailureOfThisProcessDoesNotMeanThatThereIsNoBus(error: CInt, code: TribuneError.Code) {
    #expect(TribuneError(connecting: Errno(rawValue: error), to: .system).code == code)
  }

  @Test("a bus of another user is refused before the hello if the address requires its owner")
  func server() async throws {
    let bus = try ScriptedBus()
    let script: Playing<Void> = try bus.play { peer in
      #expect(try peer.nextIfAny() == nil)
      let next = try bus.accept()
      try next.greet()
      try next.readToEnd()
    }
    var address = bus.address
    address.servers = [geteuid() + 1]
    let error = await failure { [address] in try await Connection.connect(to: address) }
    #expect(error?.code == .notPermitted)
    #expect(error?.message.contains("served by another user (uid \(geteuid()))") == true)
    address.servers = [geteuid()]
    let connection = try await Connection.connect(to: address)
    await connection.close()
    try await script.value
  }

  @Test(arguments: ["", String(repeating: "x", count: 200), "/tmp/a\0b"])
  func aPathThatNoSocketCanHaveIsRefusedAtOnce(path: String) async {
    #expect(await failure { try await Connection.connect(to: Address(path: path)) }?.code == .invalidAddress)
  }

  /// Even a busy machine must read the hello within the limit.
  @Test(arguments: [("hello", Duration.milliseconds(20)), ("welcome", .seconds(3))])
  func connectingWaitsForHelloAndWelcomeUntilItsLimit(missing: String, limit: Duration) async throws {
    let bus = try ScriptedBus()
    let script: Playing<Void> = try bus.play { peer in
      if missing == "welcome" {
        try peer.readHello()
        try peer.send(greeting())
      }
      try peer.readToEnd()
    }
    let error = await failure { try await Connection.connect(to: bus.address, within: limit) }
    #expect(error?.code == .unreachable)
    #expect(error?.message == "the listener at \(bus.address) did not send a \(missing)")
    try await script.value
  }

  @Test func aListenerThatAlwaysClosesAtOnceIsUnreachable() async throws {
    let bus = try ScriptedBus()
    let script: Playing<Void> = try bus.play { peer in
      try peer.readHello()
      peer.close()
      for _ in 2...5 {
        let next = try bus.accept()
        try next.readHello()
        next.close()
      }
    }
    #expect(await failure { try await Connection.connect(to: bus.address) }?.code == .unreachable)
    try await script.value
  }

  /// A killed bus may have accepted the connection and sent its hello.
  @Test(arguments: [false, true], [Duration.zero, .seconds(100)])
  func aBusThatEndsBeforeItsWelcomeIsTriedAgain(saysHello: Bool, patience: Duration) async throws {
    let bus = try ScriptedBus()
    let script: Playing<String> = try bus.play { peer in
      if saysHello {
        try peer.readHello()
        try peer.send(greeting())
      }
      peer.close()
      let next = try bus.accept()
      try next.greet()
      return try next.next(.post).name
    }
    let connection = try await Connection.connect(to: bus.address, reconnectingFor: patience)
    #expect(connection.id == ":7")
    try await connection.post("a.b")
    await connection.close()
    #expect(try await script.value == "a.b")
  }

  @Test(
    arguments: [
      ([UInt8]("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), .protocolViolation, nil),
      ([0], .protocolViolation, nil),
      ([UInt8](repeating: 0xF1, count: 16), .protocolViolation, nil),
      (greeting(Hello(version: 9, minimumVersion: 8)), .unsupportedVersion, nil),
      (greeting { $0.appendFrame(Okay(), serial: 1) }, .protocolViolation, nil),
      (
        greeting { $0.appendFrame(Refusal(.tooManyConnections), serial: 0, text: "1000 are enough") },
        .limitExceeded, "1000 are enough"
      ),
      (greeting { $0.appendFrame(Refusal(.shuttingDown), serial: 0) }, .shuttingDown, nil),
      (greeting { $0.appendFrame(Refusal(.helloTimeout), serial: 0) }, .tooSlow, nil),
      (greeting { $0.appendFrame(Refusal(.restarted), serial: 0) }, .connectionLost, nil),
    ] as [([UInt8], TribuneError.Code, String?)])
  func anythingButAWelcomeEndsConnecting(
    greeting: [UInt8], code: TribuneError.Code, message: String?
  ) async throws {
    let bus = try ScriptedBus()
    let script: Playing<Void> = try bus.play { peer in
      try peer.readHello()
      try peer.send(greeting)
      try peer.readToEnd()
    }
    let error = await failure { try await Connection.connect(to: bus.address) }
    #expect(error?.code == code)
    if let message { #expect(error?.message == message) }
    try await script.value
  }

  @Test func cancellingTheTaskEndsConnecting() async throws {
    let bus = try ScriptedBus()
    let task = Task { await failure { try await Connection.connect(to: bus.address) } }
    let script = try bus.play { peer in
      try peer.readHello()
      task.cancel()
      try peer.readToEnd()
    }
    try await script.value
    #expect(await task.value?.code == .cancelled)
  }

  @Test func helloAndWelcomeMayComeByteByByte() async throws {
    let bus = try ScriptedBus()
    let script: Playing<Void> = try bus.play { peer in
      try peer.readHello()
      let welcome = Welcome(
        connection: ConnectionID(rawValue: 1 << 40), payloadMax: 70_000, observationsMax: 1, delegatesMax: 1,
        queriesMax: 1, deadlineMax: 1, deadlineDefault: 1, busPID: .max, software: "ünïcode")
      for byte in greeting(write: { $0.appendFrame(welcome, serial: 0) }) { try peer.send([byte]) }
      try peer.readToEnd()
    }
    let connection = try await Connection.connect(to: bus.address)
    #expect(connection.id == ":1099511627776")
    #expect(connection.bus.software == "ünïcode")
    #expect(connection.bus.pid == .max)
    #expect(connection.bus.payloadMax == 70_000)
    #expect(connection.bus.deadlineDefault == .milliseconds(1))
    await connection.close()
    #expect(await connection.closed() == nil)
    try await script.value
  }

  @Test func droppingTheLastReferenceEndsTheConnection() async throws {
    let bus = try ScriptedBus()
    let script: Playing<[String]> = try bus.play { peer in
      try peer.greet()
      var names: [String] = []
      while let frame = try peer.nextIfAny() { names.append(frame.name) }
      return names
    }
    do {
      let connection = try await Connection.connect(to: bus.address)
      try await connection.post("last.words")
    }
    #expect(try await script.value == ["last.words"])
  }

  @Test func closingWritesWhatWasPosted() async throws {
    let count = try await conversation { peer in
      var count = 0
      while try peer.nextIfAny() != nil { count += 1 }
      return count
    } client: { connection in
      for number in 0..<5000 { try await connection.post("window.didMove", userInfo: UserInfo("\(number)")) }
      await connection.close()
      #expect(await failure { try await connection.post("too.late") }?.code == .connectionLost)
    }
    #expect(count == 5000)
  }
}

func failure<Value>(_ call: () async throws -> Value) async -> TribuneError? {
  do {
    _ = try await call()
  } catch let error as TribuneError {
    return error
  } catch {
    Issue.record("not a TribuneError: \(error)")
  }
  return nil
}
