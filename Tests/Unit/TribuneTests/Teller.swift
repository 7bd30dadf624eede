// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

@testable import Tribune

func delegation<Value: Sendable>(
  of delegate: some Delegate, reconnectingFor patience: Duration = .seconds(10), busEndsFirst: Bool = false,
  _ script: @escaping @Sendable (ScriptedPeer, Serial) throws -> Value,
  client: (Connection) async throws -> Void = { _ in }
) async throws -> Value {
  let value = try await conversation(reconnectingFor: patience, busEndsFirst: busEndsFirst) { peer in
    try script(peer, try peer.attach())
  } client: { connection in
    try await connection.attach(delegate, respondingTo: ["window.*"])
    try await client(connection)
  }
  withExtendedLifetime(delegate) {}
  return value
}

final class Teller: Delegate {
  let told = Notes()
  private let body: @Sendable (Tribune.Question) async throws -> Tribune.Answer
  private let isHeldBack: Bool
  private let (pause, pauseEnd) = AsyncStream<Void>.makeStream()
  private let callers = Mutex<[Thread.ID]>([])

  /// If `isHeldBack`, its notifications take until `goOn()`.
  init(
    holdingBack isHeldBack: Bool = false,
    _ body: @escaping @Sendable (Tribune.Question) async throws -> Tribune.Answer = { _ in .approve }
  ) {
    self.isHeldBack = isHeldBack
    self.body = body
  }

  var threads: [Thread.ID] { callers.withLock { $0 } }

  func goOn() { pauseEnd.finish() }

  func answer(_ question: Tribune.Question) async throws -> Tribune.Answer {
    callers.withLock { $0.append(Thread.ID.current) }
    told.note("asked \(question.query)")
    defer { told.note("answered") }
    return try await body(question)
  }

  func concluded(_ conclusion: Conclusion) {
    callers.withLock { $0.append(Thread.ID.current) }
    told.note("concluded \(conclusion.query) \(conclusion.ending.rawValue)")
  }

  func received(_ delivery: Delivery) async {
    told.note(delivery.word)
    if isHeldBack { for await _ in pause {} }
  }

  func replaced(by delegate: DelegateInfo) { told.note("replaced by \(delegate.label)") }

  func concluded(_ queries: UInt64...) async {
    var open = queries.map { "concluded \($0) " }
    while !open.isEmpty, let line = await told.next() { open.removeAll { line.hasPrefix($0) } }
  }
}
