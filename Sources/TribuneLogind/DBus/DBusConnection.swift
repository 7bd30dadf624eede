// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Dispatch
import TribuneSystem

/// A method of an object on D-Bus.
nonisolated struct DBusMethod: Sendable {
  var destination: String
  var path: String
  var interface: String
  var name: String
}

/// An argument of a call.
nonisolated enum DBusArgument: Sendable {
  case string(String)
  case strings([String])
  case bool(Bool)
}

/// A connection to the system's D-Bus. sd-bus reads and writes it on the main queue, so no call blocks.
@safe final class DBusConnection {
  /// The reply to a call, or a signal.
  struct Message {
    var values: [DBusValue]
    /// The unique name of the sender.
    var sender: String
    var path: String
  }

  /// A call whose reply has not come.
  private final class PendingCall {
    let continuation: CheckedContinuation<Result<Message, DBusError>, Never>

    init(_ continuation: CheckedContinuation<Result<Message, DBusError>, Never>) {
      self.continuation = continuation
    }
  }

  /// What to do with signals that match a rule.
  @safe final class Match {
    let handle: (Message) -> Void
    fileprivate(set) var slot: OpaquePointer?

    init(_ handle: @escaping (Message) -> Void) { self.handle = handle }

    isolated deinit { unsafe sd_bus_slot_unref(slot) }
  }

  private let bus: OpaquePointer
  private let readable: any DispatchSourceRead
  /// There only while the kernel takes no more.
  private var writable: (any DispatchSourceWrite)?
  private let timer: any DispatchSourceTimer
  private var isProcessing = false
  private var closed: ((Errno) -> Void)?

  /// Connects.
  ///
  /// - Parameter closed: called once, when the connection has been lost. All pending calls have failed then.
  /// - Throws: the error if there is no bus.
  init(closed: @escaping (Errno) -> Void) throws(Errno) {
    var bus: OpaquePointer?
    try DBusError.check(unsafe sd_bus_open_system(&bus))
    guard let bus = unsafe bus else { preconditionFailure("sd_bus_open_system gives a bus or an error") }
    unsafe self.bus = bus
    self.closed = closed
    let descriptor = unsafe sd_bus_get_fd(bus)
    readable = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .main)
    timer = DispatchSource.makeTimerSource(queue: .main)
    readable.setEventHandler { [weak self] in self?.process() }
    timer.setEventHandler { [weak self] in self?.process() }
    readable.activate()
    timer.activate()
    process()
  }

  isolated deinit {
    readable.cancel()
    writable?.cancel()
    timer.cancel()
    unsafe sd_bus_close_unref(bus)
  }

  // MARK: Processing

  /// Handles all that has arrived, and waits for more.
  private func process() {
    // A handler that makes a call is called from here.
    guard !isProcessing else { return }
    isProcessing = true
    defer { isProcessing = false }
    while true {
      let result = unsafe sd_bus_process(bus, nil)
      if result < 0 { return close(Errno(rawValue: -result)) }
      if result == 0 { break }
    }
    guard unsafe sd_bus_is_open(bus) > 0 else { return close(.connectionReset) }
    scheduleTimer()
    watchWriting(unsafe sd_bus_get_events(bus) & Poll.outputEvent != 0)
  }

  private func watchWriting(_ isWanted: Bool) {
    guard isWanted != (writable != nil) else { return }
    writable?.cancel()
    writable = nil
    guard isWanted else { return }
    let source = DispatchSource.makeWriteSource(
      fileDescriptor: unsafe sd_bus_get_fd(bus), queue: .main)
    source.setEventHandler { [weak self] in self?.process() }
    source.activate()
    writable = source
  }

  /// Wakes up when the earliest call that has no reply times out.
  private func scheduleTimer() {
    var microseconds: UInt64 = 0
    let known = unsafe sd_bus_get_timeout(bus, &microseconds)
    guard known > 0, microseconds < UInt64.max / 1_000 else {
      return timer.schedule(deadline: .distantFuture)
    }
    timer.schedule(deadline: DispatchTime(uptimeNanoseconds: microseconds * 1_000))
  }

  private func close(_ error: Errno) {
    guard let closed else { return }
    self.closed = nil
    readable.cancel()
    closed(error)
  }

  // MARK: Calls

  /// Calls a method, and waits for its reply.
  func call(_ method: DBusMethod, _ arguments: DBusArgument...) async throws(DBusError) -> Message {
    let message: OpaquePointer
    do throws(Errno) {
      unsafe message = try Self.message(bus, method, arguments)
    } catch {
      throw .failed(error)
    }
    let result: Result<Message, DBusError> = await withCheckedContinuation { continuation in
      let pending = unsafe Unmanaged.passRetained(PendingCall(continuation))
      let sent = unsafe sd_bus_call_async(bus, nil, message, Self.receiveReply, pending.toOpaque(), 0)
      if sent < 0 {
        unsafe pending.release()
        continuation.resume(returning: .failure(.failed(Errno(rawValue: -sent))))
      }
      unsafe sd_bus_message_unref(message)
      process()
    }
    return try result.get()
  }

  private static func message(
    _ bus: OpaquePointer, _ method: DBusMethod, _ arguments: [DBusArgument]
  ) throws(Errno) -> OpaquePointer {
    var made: OpaquePointer?
    try DBusError.check(
      unsafe sd_bus_message_new_method_call(
        bus, &made, method.destination, method.path, method.interface, method.name))
    guard let message = unsafe made else { preconditionFailure("a call that was made is there") }
    do throws(Errno) {
      for argument in arguments { unsafe try append(argument, to: message) }
      return unsafe message
    } catch {
      unsafe sd_bus_message_unref(message)
      throw error
    }
  }

  private static func append(_ argument: DBusArgument, to message: OpaquePointer) throws(Errno) {
    switch argument {
    case .string(let text):
      try DBusError.check(unsafe sd_bus_message_append_basic(message, CChar(UInt8(ascii: "s")), text))
    case .bool(let value):
      var number: CInt = value ? 1 : 0
      try DBusError.check(unsafe sd_bus_message_append_basic(message, CChar(UInt8(ascii: "b")), &number))
    case .strings(let texts):
      try DBusError.check(unsafe sd_bus_message_open_container(message, CChar(UInt8(ascii: "a")), "s"))
      for text in texts { unsafe try append(.string(text), to: message) }
      try DBusError.check(unsafe sd_bus_message_close_container(message))
    }
  }

  nonisolated private static let receiveReply: sd_bus_message_handler_t = { message, pending, _ in
    guard let message = unsafe message, let pending = unsafe pending else { return 0 }
    let call = unsafe Unmanaged<PendingCall>.fromOpaque(pending).takeRetainedValue()
    call.continuation.resume(returning: unsafe result(message))
    return 0
  }

  /// A message's contents, or its error.
  nonisolated private static func result(_ message: OpaquePointer) -> Result<Message, DBusError> {
    if let error = unsafe DBusError.of(message) { return .failure(error) }
    do throws(Errno) {
      var reader = unsafe DBusReader(message)
      return .success(
        Message(
          values: try reader.values(),
          sender: unsafe sd_bus_message_get_sender(message).map { unsafe String(cString: $0) } ?? "",
          path: unsafe sd_bus_message_get_path(message).map { unsafe String(cString: $0) } ?? ""))
    } catch {
      return .failure(.failed(error))
    }
  }

  // MARK: Signals

  /// Calls `handle` for each signal that matches `rule`, as long as the result is kept.
  ///
  /// - Parameters:
  ///   - rule: as the D-Bus specification describes it, such as `type='signal',interface='a.b'`.
  ///   - handle: does not wait for anything.
  func match(_ rule: String, _ handle: @escaping (Message) -> Void) throws(Errno) -> Match {
    let match = Match(handle)
    try DBusError.check(
      unsafe sd_bus_add_match_async(
        bus, &match.slot, rule, Self.receiveSignal, nil, Unmanaged.passUnretained(match).toOpaque()))
    process()
    return match
  }

  nonisolated private static let receiveSignal: sd_bus_message_handler_t = { message, match, _ in
    guard let message = unsafe message, let match = unsafe match else { return 0 }
    let receiver = unsafe Unmanaged<Match>.fromOpaque(match).takeUnretainedValue()
    if case .success(let signal) = unsafe result(message) {
      MainActor.assumeIsolated { receiver.handle(signal) }
    }
    return 0
  }
}
