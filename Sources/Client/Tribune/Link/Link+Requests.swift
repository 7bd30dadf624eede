// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

extension Link {
  struct Message {
    var name = ""
    var object = ""
    var payload: [UInt8] = []
    var file: MemoryFile?
    fileprivate var isLong: Bool { payload.count >= WireLimits.descriptorPayloadLength }
  }

  private func attachFile(_ post: inout Post, _ message: inout Message) async throws(TribuneError) {
    // Make the file only when the outbox has capacity. Files of posts that wait for capacity would take
    // memory that the outbox does not count yet.
    post = try await waitForCapacity(for: post)
    let takesFile = try state.withLock { state throws(TribuneError) in try state.takesFile(of: message) }
    guard takesFile else { return }
    let file: MemoryFile
    do throws(Errno) {
      file = try MemoryFile(holding: message.payload.rawBytes)
    } catch {
      // If descriptors or memory are exhausted, the frame itself carries the payload.
      return
    }
    post.length = UInt32(file.length)
    message.payload = []
    message.file = file
  }

  /// Posts a notification. Suspends only while the outbox lacks capacity, never for a reply of the bus.
  func post(_ fields: Post, _ message: Message) async throws(TribuneError) {
    var (post, message) = (fields, message)
    if message.isLong, !post.options.contains(.bound) { try await attachFile(&post, &message) }
    while true {
      let duty = try state.withLock { state throws(TribuneError) in
        try state.post(post, message, at: SystemClock.coarseNanoseconds)
      }
      if let duty { return perform(duty) }
      try await waitForCapacity(for: post)
    }
  }

  @discardableResult
  func request(
    posting fields: Post, _ message: Message, flags: FrameFlags = .none, isTakenBack: Bool = false,
    as subject: LinkEntry.Subject = .plain
  ) async throws(TribuneError) -> Response {
    var (post, message) = (fields, message)
    // A bound post takes no file, because the link resends the post to the next bus, which can refuse files.
    if message.isLong, !post.options.contains(.bound) { try await attachFile(&post, &message) }
    return try await request(post, message, flags: flags, isTakenBack: isTakenBack, as: subject).response
  }

  /// - Parameter isTakenBack: true if cancelling the task must also cancel the request on the bus.
  @discardableResult
  func request(
    _ fields: some FrameFields, _ message: Message = Message(), flags: FrameFlags = .none,
    isTakenBack: Bool = false, as subject: LinkEntry.Subject = .plain
  ) async throws(TribuneError) -> (serial: Serial, response: Response) {
    let (serial, isFull) = state.withLock { ($0.nextSerial(), $0.outbox.isFull) }
    let fields = isFull && !message.payload.isEmpty ? try await waitForCapacity(for: fields) : fields
    let response = try await Reply<Response>.wait { reply throws(TribuneError) in
      let duty = try state.withLock { state throws(TribuneError) -> Outbox.Duty in
        if Task.isCancelled { throw .taskCancelled }
        return try state.enqueue(subject, reply, fields, message, flags: flags, serial: serial, at: .now)
      }
      perform(duty)
      return nil
    } onCancel: {
      perform(state.withLock { $0.cancel(serial, tellsBus: isTakenBack) })
    }.get()
    return (serial, response)
  }

  func register(
    _ fields: some FrameFields, _ message: Message, as registration: LinkEntry.Registration
  ) async throws(TribuneError) -> Serial {
    try await request(fields, message, isTakenBack: true, as: .registration(registration)).serial
  }

  func list(
    _ subject: ListSubject, name: String = "", object: String = ""
  ) async throws(TribuneError) -> [Entry] {
    try await list(List(subject), name: name, object: object)
  }

  func list(_ list: List, name: String, object: String) async throws(TribuneError) -> [Entry] {
    let response = try await request(list, Message(name: name, object: object), as: .list([])).response
    guard case .list(let entries) = response else { preconditionFailure("a list ended without entries") }
    return entries
  }
}

extension Link.Message {
  init(_ name: String, _ object: String, _ userInfo: UserInfo) throws(TribuneError) {
    let name = try Checked.name(name)
    do throws(WireError) {
      try name.utf8Bytes.requireUnreservedName()
    } catch {
      throw TribuneError(wire: error)
    }
    self.init(name: name, object: try Checked.object(object), payload: userInfo.bytes)
  }
}

/// Checks arguments by the rules of the wire protocol, before the library sends them.
enum Checked {
  static func name(_ name: String) throws(TribuneError) -> String {
    do throws(WireError) { try name.utf8Bytes.requireName() } catch { throw TribuneError(wire: error) }
    return name
  }

  static func object(_ object: String) throws(TribuneError) -> String {
    do throws(WireError) { try object.utf8Bytes.requireObject() } catch { throw TribuneError(wire: error) }
    return object
  }

  static func pattern(_ text: String) throws(TribuneError) -> Pattern {
    do throws(WireError) { return try Pattern(text) } catch { throw TribuneError(wire: error) }
  }

  static func count(_ count: Int, _ things: String, max: Int) throws(TribuneError) {
    guard count <= max else {
      throw TribuneError(.limitExceeded, "\(count) \(things) exceed the limit of \(max)")
    }
  }

  /// Checks the name's length. Only the bus knows whether the protocol exists.
  static func protocolName(_ name: String) throws(TribuneError) {
    try count(name.utf8.count, "bytes in the name of a protocol", max: WireLimits.protocolNameLength)
    guard !name.isEmpty else { throw TribuneError(.unknownProtocol, "the name of the protocol is empty") }
  }

  /// Returns the end of the span, in nanoseconds of the host's monotonic clock; 0 for a nil span.
  static func expiry(_ span: Duration?, now: UInt64) throws(TribuneError) -> UInt64 {
    guard let span else { return 0 }
    guard span > .zero else { throw TribuneError(.refused, "the span of a hold must be positive") }
    let (seconds, attoseconds) = span.components
    let (product, isTooLong) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let nanoseconds = (attoseconds + 999_999_999) / 1_000_000_000
    let length = product.saturatingAdding(UInt64(nanoseconds))
    return isTooLong ? WireLimits.expiry : min(now.saturatingAdding(length), WireLimits.expiry)
  }

  /// Rounds up to whole milliseconds, at least one. Nil becomes 0, the wire's value for an absent time.
  static func milliseconds(_ span: Duration?) -> UInt32 {
    guard let span else { return 0 }
    let (seconds, attoseconds) = span.components
    guard seconds < Int64(UInt32.max) / 1000 else { return .max }
    guard seconds >= 0, attoseconds >= 0 else { return 1 }
    let milliseconds = seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    return max(1, UInt32(clamping: milliseconds))
  }
}
