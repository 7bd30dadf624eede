// SPDX-License-Identifier: Apache-2.0

import CNats
import TribuneWire

/// The durable stream in JetStream, and this host's consumer. Each call blocks.
///
/// A consumer has one unacknowledged message at most, so redelivery keeps the order. If the stream is half
/// full or refuses a message, this type removes the messages that all consumers have acknowledged. With a
/// retention policy by interest, JetStream would remove these by itself. But with such a policy, a NATS 2.9
/// server that is killed (SIGKILL) loses other messages.
@safe nonisolated final class DurableStore {
  struct Opening: Sendable {
    var created: Int64
    var last: UInt64
    var warnings: [String] = []
    /// The consumer that has acknowledged least, if a purge had to keep messages for it; otherwise nil.
    var slowest: String?
    var consumer: Consumer?
  }

  struct Consumer: Sendable {
    var isMade: Bool
    var acknowledged: UInt64
  }

  /// The description that marks a stream of this program.
  private static let description = "Durable notifications, made by tribune-nats"
  private static let secondNanoseconds: Int64 = 1_000_000_000
  /// JetStream drops a message if another one had the same id within this time.
  private static let duplicateSeconds: Int64 = 600
  /// JetStream delivers a message again if it is not acknowledged within this time.
  private static let ackSeconds: Int64 = 5

  private let stream: DurableStream
  private let context: JetStreamContext

  init(_ client: NATSClient, _ stream: DurableStream) throws(NATSError) {
    self.stream = stream
    context = try JetStreamContext(client)
  }

  /// Makes the stream if it is missing. With `needsConsumer`, also makes a missing consumer, which reads:
  /// - the messages after the `position` of `account`, if `account` is of this stream
  /// - all messages, if `account` is of another stream
  /// - only messages that the stream stores from now on, if `account` is nil
  func open(needsConsumer: Bool, after account: DurableAccount?, needsSpace: Bool) throws(NATSError)
    -> Opening
  {
    var found = try read(needsSpace: needsSpace)
    if found == nil {
      try make()
      found = try read()
    }
    guard var opening = found else {
      throw NATSError(description: "the stream \(stream.name) is removed again and again")
    }
    guard needsConsumer else {
      if try hasConsumer() { opening.warnings.append(stream.unneededConsumer) }
      return opening
    }
    if let acknowledged = try checkConsumer() {
      opening.consumer = Consumer(isMade: false, acknowledged: acknowledged)
    } else {
      let start = account?.start(in: opening.created) ?? opening.last + 1
      try makeConsumer(from: start)
      opening.consumer = Consumer(isMade: true, acknowledged: start - 1)
    }
    return opening
  }

  // MARK: The stream

  private func read(needsSpace: Bool = false) throws(NATSError) -> Opening? {
    var made: UnsafeMutablePointer<jsStreamInfo>?
    var code = jsErrCode(0)
    let status = unsafe js_GetStreamInfo(&made, context.pointer, stream.name, nil, &code)
    if code == JSStreamNotFoundErr { return nil }
    guard status == NATS_OK, let info = unsafe made, let configuration = unsafe info.pointee.Config else {
      throw NATSError(status, "the stream \(stream.name) cannot be read")
    }
    defer { unsafe jsStreamInfo_Destroy(info) }
    let properties = unsafe Self.properties(configuration.pointee)
    if let flaw = stream.flaw(of: properties) {
      throw NATSError(description: "the stream \(stream.name) cannot be used: \(flaw)")
    }
    var opening = Opening(
      created: unsafe info.pointee.Created, last: unsafe info.pointee.State.LastSeq,
      warnings: [stream.warning(about: properties)].compactMap(\.self))
    if unsafe needsSpace || Self.isHalfFull(info.pointee), properties.isOwn {
      do throws(NATSError) {
        opening.slowest = unsafe try purge(info.pointee.State)
      } catch {
        opening.warnings.append("cannot be emptied: \(error)")
      }
    }
    return opening
  }

  private static func isHalfFull(_ info: jsStreamInfo) -> Bool {
    guard let limit = unsafe info.Config?.pointee.MaxBytes, limit > 0 else { return false }
    return unsafe info.State.Bytes > UInt64(limit) / 2
  }

  /// Removes the messages that all consumers have acknowledged. Returns the slowest consumer; nil if all are
  /// up to date, or if the list of consumers is incomplete.
  private func purge(_ state: jsStreamState) throws(NATSError) -> String? {
    var made: UnsafeMutablePointer<jsConsumerInfoList>?
    let status = unsafe js_Consumers(&made, context.pointer, stream.name, nil, nil)
    guard status == NATS_OK || status == NATS_NOT_FOUND else {
      throw NATSError(status, "the consumers of \(stream.name) cannot be read")
    }
    defer { unsafe jsConsumerInfoList_Destroy(made) }
    var floor = unsafe state.LastSeq
    let count = Int(unsafe made?.pointee.Count ?? 0)
    // In a NATS cluster, the list may lack consumers that replied late, so their unread messages are unknown.
    guard count == Int(unsafe state.Consumers) else { return nil }
    var slowest: String?
    for index in 0..<count {
      guard let consumer = unsafe made?.pointee.List[index] else { return nil }
      guard unsafe consumer.pointee.AckFloor.Stream < floor else { continue }
      floor = unsafe consumer.pointee.AckFloor.Stream
      slowest = unsafe consumer.pointee.Name.map { unsafe String(cString: $0).prefix(utf8Length: 63).escaped }
    }
    guard unsafe floor >= state.FirstSeq else { return slowest }
    var options = unsafe JetStreamContext.options()
    unsafe options.Stream.Purge.Sequence = floor + 1
    let purged = unsafe js_PurgeStream(context.pointer, stream.name, &options, nil)
    guard purged == NATS_OK else { throw NATSError(purged, "the stream \(stream.name) cannot be purged") }
    return slowest
  }

  private static func properties(_ configuration: jsStreamConfig) -> DurableStream.Properties {
    var subjects: [String] = []
    for index in 0..<Int(unsafe configuration.SubjectsLen) {
      if let subject = unsafe configuration.Subjects?[index] {
        subjects.append(unsafe String(cString: subject))
      }
    }
    var properties = DurableStream.Properties(subjects: subjects)
    properties.isWorkQueue = unsafe configuration.Retention == js_WorkQueuePolicy
    properties.acknowledges = unsafe !configuration.NoAck
    properties.discardsUnread = unsafe configuration.Discard == js_DiscardOld
    properties.isOwn = unsafe configuration.Description.map { unsafe String(cString: $0) } == description
    let age = unsafe configuration.MaxAge
    if age > 0 { properties.ageMax = .nanoseconds(age) }
    return properties
  }

  private func make() throws(NATSError) {
    let status = unsafe stream.name.withCString { name in
      unsafe stream.subjects.withCString { subject in
        unsafe Self.description.withCString { description in
          var subjects: [UnsafePointer<CChar>?] = unsafe [subject]
          return unsafe subjects.withUnsafeMutableBufferPointer { subjects in
            var configuration = unsafe jsStreamConfig()
            unsafe jsStreamConfig_Init(&configuration)
            unsafe configuration.Name = name
            unsafe configuration.Description = description
            unsafe configuration.Subjects = subjects.baseAddress
            unsafe configuration.SubjectsLen = 1
            unsafe configuration.Retention = js_LimitsPolicy
            unsafe configuration.Discard = js_DiscardNew
            unsafe configuration.Storage = js_FileStorage
            unsafe configuration.MaxBytes = Int64(stream.bytesMax)
            unsafe configuration.MaxMsgSize = Int32(clamping: stream.messageMax)
            unsafe configuration.MaxAge = stream.ageMax.components.seconds * Self.secondNanoseconds
            unsafe configuration.Duplicates = Self.duplicateSeconds * Self.secondNanoseconds
            unsafe configuration.Replicas = Int64(stream.replicas)
            return unsafe js_AddStream(nil, context.pointer, &configuration, nil, nil)
          }
        }
      }
    }
    guard status != NATS_OK else { return }
    let failure = NATSError(
      status, "the stream \(stream.name) with Replicas=\(stream.replicas) cannot be made")
    // Another gateway may have made the stream, perhaps with other settings.
    guard try read() != nil else { throw failure }
  }

  // MARK: The consumer

  func hasConsumer() throws(NATSError) -> Bool {
    let info = unsafe try readConsumer()
    unsafe jsConsumerInfo_Destroy(info)
    return unsafe info != nil
  }

  /// - Returns: nil if the consumer is missing. The caller must destroy the result.
  private func readConsumer() throws(NATSError) -> UnsafeMutablePointer<jsConsumerInfo>? {
    var made: UnsafeMutablePointer<jsConsumerInfo>?
    var code = jsErrCode(0)
    let status = unsafe js_GetConsumerInfo(&made, context.pointer, stream.name, stream.consumer, nil, &code)
    if code == JSConsumerNotFoundErr || code == JSStreamNotFoundErr { return nil }
    guard status == NATS_OK else {
      throw NATSError(status, "the consumer \(stream.consumer) of \(stream.name) cannot be read")
    }
    return unsafe made
  }

  private func checkConsumer() throws(NATSError) -> UInt64? {
    guard let info = unsafe try readConsumer(), let configuration = unsafe info.pointee.Config else {
      return nil
    }
    defer { unsafe jsConsumerInfo_Destroy(info) }
    let subject = unsafe configuration.pointee.DeliverSubject.map { unsafe String(cString: $0) }
    let isOrdered =
      unsafe configuration.pointee.AckPolicy == js_AckExplicit && configuration.pointee.MaxAckPending == 1
    guard subject == stream.deliverSubject, isOrdered else {
      throw NATSError(
        description: "the consumer \(stream.consumer) of \(stream.name) was not made by a gateway: remove it")
    }
    if unsafe info.pointee.NumAckPending > 0 { acknowledgeIfRemoved(unsafe info.pointee.Delivered) }
    return unsafe info.pointee.AckFloor.Stream
  }

  /// Acknowledges the last delivered message if the stream no longer has this message. A NATS server that is
  /// killed (SIGKILL) can forget acknowledgements. NATS 2.9 would then wait for ever for the acknowledgement
  /// of the removed message, and deliver no other message to this consumer.
  private func acknowledgeIfRemoved(_ delivered: jsSequenceInfo) {
    var message: OpaquePointer?
    var code = jsErrCode(0)
    _ = unsafe js_GetMsg(&message, context.pointer, stream.name, delivered.Stream, nil, &code)
    unsafe natsMsg_Destroy(message)
    guard code == JSNoMessageFoundErr else { return }
    let subject =
      "$JS.ACK.\(stream.name).\(stream.consumer).1.\(delivered.Stream).\(delivered.Consumer).0.0"
    // If the publication fails, the next check repeats it.
    _ = unsafe natsConnection_PublishString(context.client.connection, subject, "+ACK")
  }

  private func makeConsumer(from start: UInt64) throws(NATSError) {
    let status = unsafe stream.consumer.withCString { name in
      unsafe stream.deliverSubject.withCString { subject in
        var configuration = unsafe jsConsumerConfig()
        unsafe jsConsumerConfig_Init(&configuration)
        unsafe configuration.Durable = name
        unsafe configuration.DeliverSubject = subject
        unsafe configuration.DeliverPolicy = js_DeliverByStartSequence
        unsafe configuration.OptStartSeq = start
        unsafe configuration.AckPolicy = js_AckExplicit
        unsafe configuration.AckWait = Self.ackSeconds * Self.secondNanoseconds
        unsafe configuration.MaxAckPending = 1
        return unsafe js_AddConsumer(nil, context.pointer, stream.name, &configuration, nil, nil)
      }
    }
    guard status == NATS_OK else {
      throw NATSError(status, "the consumer \(stream.consumer) of \(stream.name) cannot be made")
    }
  }
}
