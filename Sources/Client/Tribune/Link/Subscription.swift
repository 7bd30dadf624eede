// SPDX-License-Identifier: Apache-2.0

/// A stream's registration. Releasing the last reference takes the registration back.
final class Subscription<Element: LossReporting>: Sendable {
  let stream: DeliveryStream<Element>
  /// This reference keeps the connection open while the program uses the stream.
  private let connection: Connection
  private let takeBack: @Sendable (Link, DeliveryStream<Element>) -> Void

  init(
    _ stream: DeliveryStream<Element>, on connection: Connection,
    takeBack: @escaping @Sendable (Link, DeliveryStream<Element>) -> Void
  ) {
    self.stream = stream
    self.connection = connection
    self.takeBack = takeBack
  }

  deinit {
    cancel()
    // The remaining elements have no reader. Releasing awaited ones reports a failure to their posters.
    stream.discard()
  }

  func next() async throws(TribuneError) -> Element? {
    if let element = nextWaiting() { return element }
    let (element, makesRoom) = try await stream.next()
    if makesRoom { connection.link.raiseRoom() }
    return element
  }

  /// Does not suspend. Nil if no element waits in this process.
  func nextWaiting() -> Element? {
    guard let (element, makesRoom) = stream.nextWaiting() else { return nil }
    if makesRoom { connection.link.raiseRoom() }
    return element
  }

  func cancel() {
    takeBack(connection.link, stream)
    stream.finish(nil)
  }
}

extension Delivery: LossReporting {
  var lostCount: Int? {
    if case .lost(let count) = self { count } else { nil }
  }

  var isInterrupted: Bool { self == .interrupted }

  var byteCount: Int {
    if case .notification(let notification) = self { notification.userInfo.count } else { 0 }
  }
}

extension TrafficDelivery: LossReporting {
  var lostCount: Int? {
    if case .lost(let count) = self { count } else { nil }
  }

  var isInterrupted: Bool { if case .interrupted = self { true } else { false } }

  var byteCount: Int {
    if case .item(let item) = self { item.bytes.count } else { 0 }
  }
}
