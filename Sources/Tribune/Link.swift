// SPDX-License-Identifier: Apache-2.0

/// The connection's machinery.
final class Link: Sendable {
  static let unwritten = TribuneError(.unreachable, "not written yet")

  static func connect(to address: Address) async throws(TribuneError) -> Connection {
    throw Link.unwritten
  }

  func abandon() {}
  func detach(_ serial: UInt64) async throws(TribuneError) {}
  func `defer`(_ question: Question, by: Duration, status: String) throws(TribuneError) {}
}

final class Subscription<Element: Sendable>: Sendable {
  let stream = DeliveryStream<Element>()
  func cancel() {}
}

final class DeliveryStream<Element: Sendable>: Sendable {
  func next() async throws(TribuneError) -> Element? { nil }
}

extension TrafficItem {
  /// One line: who to whom, the kind, and what it says.
  public var description: String { kind }
}
