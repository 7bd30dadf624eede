// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TribuneWire

@testable import Tribune

/// How long the bus is looked for guards against hanging only.
func connect(to bus: ScriptedBus, _ events: Events = Events()) async throws -> Connection {
  try await Connection.connect(to: bus.address, reconnectingFor: .seconds(100)) { events.note($0) }
}

/// What a connection was told, one word each.
final class Events: Sendable {
  private let (stream, continuation) = AsyncStream<String>.makeStream()

  func note(_ event: ConnectionEvent) {
    switch event {
    case .disconnected(let error): continuation.yield("disconnected \(error.code)")
    case .reconnected(let lost): continuation.yield("reconnected \(lost.map { "\($0)" } ?? "unknown")")
    }
  }

  func next() async -> String? {
    for await event in stream { return event }
    return nil
  }
}

/// Answers when it is told to, with the number of the question.
final class Hesitant: Delegate {
  final class Told: Sendable {
    fileprivate let (stream, continuation) = AsyncStream<String>.makeStream()

    func next() async -> String? {
      for await word in stream { return word }
      return nil
    }
  }

  let told = Told()
  private let gates = [Gate(), Gate()]
  private let count = Mutex(0)

  func answer(_ question: Tribune.Question) async -> Tribune.Answer {
    let number = count.withLock { count in
      count += 1
      return count
    }
    told.continuation.yield("asked \(number)")
    await gates[number - 1].opened()
    return .veto("\(number)")
  }

  /// Has it answer that question.
  func answer(_ number: Int) { gates[number - 1].open() }

  func received(_ delivery: Delivery) { told.continuation.yield(delivery.word) }

  func concluded(_ conclusion: Conclusion) { told.continuation.yield("concluded \(conclusion.ending)") }
}

extension ScriptedPeer {
  func confirm(_ frame: Frame, as id: UInt64 = 0) throws {
    try send(Okay(registration: frame.serial, delegate: id), serial: frame.serial)
  }

  func confirmSuccession(of predecessor: UInt64, received: UInt64) throws {
    let succeed = try next(.succeed)
    let fields = try succeed.decode(Succeed.self)
    #expect(fields == Succeed(predecessor: ConnectionID(rawValue: predecessor), received: received))
    try send(Okay(), serial: succeed.serial)
  }

  func retained(_ observe: Frame, _ userInfo: String) throws {
    try send(
      Retained(age: 1), sender: ConnectionID(rawValue: 9), serial: observe.serial,
      name: observe.name.replacing("*", with: "kept"), text: userInfo)
  }

  func ask(_ query: UInt64, of delegate: UInt64, under serial: Serial) throws {
    let asker = PeerIdentity(pid: 1, uid: 0, gid: 0, process: "asker", unit: "")
    try send(
      TribuneWire.Question(
        query: QueryID(rawValue: query), delegate: DelegateID(rawValue: delegate), timeout: 60_000,
        asker: asker),
      sender: ConnectionID(rawValue: 9), serial: serial, name: "a.should")
  }
}

extension Delivery {
  var word: String {
    switch self {
    case .notification(let notification):
      [
        notification.name, notification.userInfo.isEmpty ? nil : notification.userInfo.description,
        notification.isRetained ? "retained" : nil,
      ].compactMap { $0 }.joined(separator: " ")
    case .lost(let count): "lost \(count)"
    case .interrupted: "interrupted"
    }
  }
}
