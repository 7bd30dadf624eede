// SPDX-License-Identifier: Apache-2.0

/// What keeps a stream coming: the last reference to it takes the registration back.
final class Subscription<Element: LossReporting>: Sendable {
  let stream: DeliveryStream<Element>
  /// A stream in use keeps its connection, whatever became of the reference that opened it.
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

  deinit { cancel() }

  func cancel() {
    takeBack(connection.link, stream)
    stream.finish(nil)
  }
}

extension Delivery: LossReporting {
  var lostCount: Int? {
    if case .lost(let count) = self { count } else { nil }
  }

  var byteCount: Int {
    if case .notification(let notification) = self { notification.userInfo.bytes.count } else { 0 }
  }
}

extension TrafficDelivery: LossReporting {
  var lostCount: Int? {
    if case .lost(let count) = self { count } else { nil }
  }

  var byteCount: Int {
    if case .item(let item) = self { item.bytes.count } else { 0 }
  }
}
