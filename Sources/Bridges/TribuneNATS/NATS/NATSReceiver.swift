// SPDX-License-Identifier: Apache-2.0

import CNats
import Dispatch
import Synchronization

/// The callbacks of libnats, which run on its threads. They pass messages and events to the main actor. Even
/// closed connections have unretained pointers to this object, so it must live as long as the process.
nonisolated final class NATSReceiver: Sendable {
  enum Event: Sendable {
    case disconnected
    case reconnected
    /// libnats has closed the connection, and does not reconnect.
    case closed
    /// libnats dropped messages because this process was too slow.
    case overrun
    case refused(String)
  }

  private let posts: Lane
  private let durable: Lane
  private let others: Lane
  /// Handles a message at once. Returns false to pass it to the main actor.
  private let handle: @Sendable (ClusterMessage) -> Bool
  private let onEvent: @Sendable @MainActor (Event, _ connection: UInt) -> Void
  /// The number of errors on their way to the main actor. Beyond a limit, this object drops further errors.
  private let errorsUnderWay = Atomic(0)

  init(
    posts: Lane, durable: Lane, others: Lane, atOnce handle: @escaping @Sendable (ClusterMessage) -> Bool,
    _ onEvent: @escaping @Sendable @MainActor (Event, _ connection: UInt) -> Void
  ) {
    (self.posts, self.durable, self.others, self.handle, self.onEvent) = (
      posts, durable, others, handle, onEvent
    )
  }

  var pointer: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

  private static func at(_ pointer: UnsafeMutableRawPointer?) -> NATSReceiver? {
    guard let pointer = unsafe pointer else { return nil }
    return unsafe Unmanaged<NATSReceiver>.fromOpaque(pointer).takeUnretainedValue()
  }

  private func forward(_ event: Event, _ connection: OpaquePointer?) {
    let number = UInt(bitPattern: connection)
    DispatchQueue.main.async { [onEvent] in MainActor.assumeIsolated { onEvent(event, number) } }
  }

  private func forwardError(_ event: Event, _ connection: OpaquePointer?) {
    guard errorsUnderWay.add(1, ordering: .relaxed).newValue <= 16 else {
      errorsUnderWay.subtract(1, ordering: .relaxed)
      return
    }
    let number = UInt(bitPattern: connection)
    DispatchQueue.main.async { [self] in
      errorsUnderWay.subtract(1, ordering: .relaxed)
      MainActor.assumeIsolated { onEvent(event, number) }
    }
  }

  // MARK: Callbacks

  static let receivePost: natsMsgHandler = { _, _, message, receiver in
    guard let message = unsafe message else { return }
    defer { unsafe SpentMessages.add(message) }
    unsafe at(receiver)?.posts.put(ClusterMessage(message))
  }

  static let receiveValue: natsMsgHandler = { _, _, message, receiver in
    guard let message = unsafe message else { return }
    defer { unsafe SpentMessages.add(message) }
    var copy = unsafe ClusterMessage(message)
    var facts: UnsafeMutablePointer<jsMsgMetaData>?
    guard unsafe natsMsg_GetMetaData(&facts, message) == NATS_OK, let facts = unsafe facts else { return }
    copy.revision = unsafe facts.pointee.Sequence.Stream
    unsafe jsMsgMetaData_Destroy(facts)
    unsafe at(receiver)?.posts.put(copy)
  }

  static let receiveDurable: natsMsgHandler = { _, _, message, receiver in
    guard let message = unsafe message else { return }
    defer { unsafe SpentMessages.add(message) }
    unsafe at(receiver)?.durable.put(ClusterMessage(message))
  }

  static let receiveOther: natsMsgHandler = { _, _, message, receiver in
    guard let message = unsafe message else { return }
    defer { unsafe SpentMessages.add(message) }
    guard let receiver = unsafe at(receiver) else { return }
    let copy = unsafe ClusterMessage(message)
    if !receiver.handle(copy) { receiver.others.put(copy) }
  }

  static let disconnected: natsConnectionHandler = { connection, receiver in
    unsafe at(receiver)?.forward(.disconnected, connection)
  }
  static let reconnected: natsConnectionHandler = { connection, receiver in
    unsafe at(receiver)?.forward(.reconnected, connection)
  }
  static let closed: natsConnectionHandler = { connection, receiver in
    unsafe at(receiver)?.forward(.closed, connection)
  }

  static let failed: natsErrHandler = { connection, _, status, receiver in
    guard let receiver = unsafe at(receiver) else { return }
    if status == NATS_SLOW_CONSUMER { return unsafe receiver.forwardError(.overrun, connection) }
    var text: UnsafePointer<CChar>?
    let last = unsafe connection.map { unsafe natsConnection_GetLastError($0, &text) } ?? status
    let detail = unsafe text.map { unsafe String(cString: $0) } ?? ""
    let name = unsafe natsStatus_GetText(last).map { unsafe String(cString: $0) } ?? ""
    unsafe receiver.forwardError(.refused(detail.isEmpty ? name : detail), connection)
  }
}

extension ClusterMessage {
  nonisolated fileprivate init(_ message: OpaquePointer) {
    self.init(unsafe natsMsg_GetSubject(message).map { unsafe String(cString: $0) } ?? "")
    reply = unsafe natsMsg_GetReply(message).map { unsafe String(cString: $0) } ?? ""
    isNoResponders = unsafe natsMsg_IsNoResponders(message)
    let count = Int(unsafe natsMsg_GetDataLength(message))
    if count > 0, let data = unsafe natsMsg_GetData(message) {
      payload = unsafe Array(UnsafeRawBufferPointer(start: data, count: count))
    }
    for header in Header.allCases {
      var value: UnsafePointer<CChar>?
      guard unsafe natsMsgHeader_Get(message, header.rawValue, &value) == NATS_OK, let value = unsafe value
      else { continue }
      // Invalid UTF-8 becomes U+FFFD, which valid headers never contain.
      headers[header] = unsafe String(cString: value)
    }
  }
}
