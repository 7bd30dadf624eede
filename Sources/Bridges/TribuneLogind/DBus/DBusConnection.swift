// SPDX-License-Identifier: Apache-2.0

import CSystemdBus
import Dispatch
import TribuneSystem

nonisolated struct DBusMethod: Sendable {
  var destination: String
  var path: String
  var interface: String
  var name: String
  var timeoutMicroseconds: UInt64 = 5_000_000
}

struct DBusMessage {
  /// Nil if the values exceed the limits of `DBusReader`.
  var values: [DBusValue]?
  /// The sender's unique name, or `org.freedesktop.DBus`.
  var sender: String
  var path: String
  /// True if the sender addressed this connection; false for a broadcast.
  var isDirected: Bool
}

/// A connection to D-Bus. sd-bus reads and writes on the main queue, without blocking.
@safe final class DBusConnection {
  private final class PendingCall {
    private let continuation: CheckedContinuation<Result<DBusMessage, DBusError>, Never>
    private weak var connection: DBusConnection?

    init(
      _ continuation: CheckedContinuation<Result<DBusMessage, DBusError>, Never>,
      on connection: DBusConnection
    ) {
      (self.continuation, self.connection) = (continuation, connection)
      connection.pending[ObjectIdentifier(self)] = self
    }

    func finish(_ result: Result<DBusMessage, DBusError>) {
      connection?.pending[ObjectIdentifier(self)] = nil
      continuation.resume(returning: result)
    }
  }

  private let bus: OpaquePointer
  private let readable: any DispatchSourceRead
  private var writable: (any DispatchSourceWrite)?
  private let timer: any DispatchSourceTimer
  private var isProcessing = false
  /// Retains the calls, because sd-bus has unretained pointers to them.
  private var pending: [ObjectIdentifier: PendingCall] = [:]
  private var closed: ((Errno) -> Void)?

  /// When an error ends the connection, `closed` runs once, after all pending calls have failed.
  convenience init(closed: @escaping (Errno) -> Void) throws(Errno) {
    var bus: OpaquePointer?
    try DBusError.check(unsafe sd_bus_open_system(&bus))
    try unsafe self.init(bus, closed)
  }

  /// Connects to systemd's private socket, which needs no D-Bus daemon.
  convenience init(toServiceManager closed: @escaping (Errno) -> Void) throws(Errno) {
    var bus: OpaquePointer?
    try DBusError.check(unsafe sd_bus_new(&bus))
    do throws(Errno) {
      try DBusError.check(unsafe sd_bus_set_address(bus, "unix:path=/run/systemd/private"))
      try DBusError.check(unsafe sd_bus_start(bus))
    } catch {
      unsafe sd_bus_unref(bus)
      throw error
    }
    try unsafe self.init(bus, closed)
  }

  private init(_ bus: OpaquePointer?, _ closed: @escaping (Errno) -> Void) throws(Errno) {
    guard let bus = unsafe bus else { preconditionFailure("libsystemd gives a bus or an error") }
    let descriptor: CInt
    do throws(Errno) {
      descriptor = try unsafe Self.copiedDescriptor(of: bus)
    } catch {
      unsafe sd_bus_close_unref(bus)
      throw error
    }
    unsafe self.bus = bus
    self.closed = closed
    readable = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .main)
    readable.setCancelHandler { FileDescriptor(owning: descriptor).close() }
    timer = DispatchSource.makeTimerSource(queue: .main)
    readable.setEventHandler { [weak self] in self?.process() }
    timer.setEventHandler { [weak self] in self?.process() }
    readable.activate()
    timer.activate()
    process()
  }

  isolated deinit {
    stopWatching()
    unsafe sd_bus_close_unref(bus)
  }

  // MARK: Processing

  /// Copies the descriptor, because sd-bus may close the original while Dispatch still needs a descriptor.
  private static func copiedDescriptor(of bus: OpaquePointer) throws(Errno) -> CInt {
    try FileDescriptor.duplicate(of: unsafe sd_bus_get_fd(bus)).release()
  }

  private func process() {
    // `sd_bus_process` runs handlers, which may call `process`. Such a call must do nothing.
    guard !isProcessing, closed != nil else { return }
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
    let descriptor: CInt
    do throws(Errno) {
      descriptor = try unsafe Self.copiedDescriptor(of: bus)
    } catch {
      return close(error)
    }
    let source = DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: .main)
    source.setCancelHandler { FileDescriptor(owning: descriptor).close() }
    source.setEventHandler { [weak self] in self?.process() }
    source.activate()
    writable = source
  }

  private func scheduleTimer() {
    var microseconds: UInt64 = 0
    let known = unsafe sd_bus_get_timeout(bus, &microseconds)
    guard known > 0, microseconds < UInt64.max / 1_000 else {
      return timer.schedule(deadline: .distantFuture)
    }
    timer.schedule(deadline: DispatchTime(uptimeNanoseconds: microseconds * 1_000))
  }

  private func stopWatching() {
    readable.cancel()
    writable?.cancel()
    timer.cancel()
  }

  /// Ends this connection at any error, even where sd-bus would continue.
  private func close(_ error: Errno) {
    guard let closed else { return }
    self.closed = nil
    stopWatching()
    for call in pending.values { call.finish(.failure(.failed(error))) }
    closed(error)
  }

  // MARK: Calls

  func property(
    _ name: String, of interface: String, at path: String, by service: String
  ) async throws(DBusError) -> DBusValue {
    let get = DBusMethod(
      destination: service, path: path, interface: "org.freedesktop.DBus.Properties", name: "Get")
    guard let value = try await call(get, interface, name).first else {
      throw .unexpected(name)
    }
    return value
  }

  func call(_ method: DBusMethod, _ arguments: String...) async throws(DBusError) -> [DBusValue] {
    guard closed != nil else { throw .failed(.connectionReset) }
    let message: OpaquePointer
    do throws(Errno) {
      unsafe message = try Self.message(bus, method, arguments)
    } catch {
      throw .failed(error)
    }
    let result: Result<DBusMessage, DBusError> = await withCheckedContinuation { continuation in
      let call = PendingCall(continuation, on: self)
      let sent = unsafe sd_bus_call_async(
        bus, nil, message, Self.receiveReply, Unmanaged.passUnretained(call).toOpaque(),
        method.timeoutMicroseconds)
      unsafe sd_bus_message_unref(message)
      if sent < 0 { return call.finish(.failure(.failed(Errno(rawValue: -sent)))) }
      process()
    }
    guard let values = try result.get().values else { throw .unexpected(method.name) }
    return values
  }

  private static func message(
    _ bus: OpaquePointer, _ method: DBusMethod, _ arguments: [String]
  ) throws(Errno) -> OpaquePointer {
    var made: OpaquePointer?
    try DBusError.check(
      unsafe sd_bus_message_new_method_call(
        bus, &made, method.destination, method.path, method.interface, method.name))
    guard let message = unsafe made else { preconditionFailure("a call that was made is there") }
    do throws(Errno) {
      for argument in arguments {
        try DBusError.check(unsafe sd_bus_message_append_basic(message, CChar(UInt8(ascii: "s")), argument))
      }
      return unsafe message
    } catch {
      unsafe sd_bus_message_unref(message)
      throw error
    }
  }

  nonisolated private static let receiveReply: sd_bus_message_handler_t = { message, call, _ in
    guard let message = unsafe message, let call = unsafe call else { return 0 }
    let pending = unsafe Unmanaged<PendingCall>.fromOpaque(call).takeUnretainedValue()
    let result = unsafe received(message, limit: .reply)
    MainActor.assumeIsolated { pending.finish(result) }
    return 0
  }

  nonisolated private static func received(
    _ message: OpaquePointer, limit: DBusReader.Limit
  ) -> Result<DBusMessage, DBusError> {
    if let error = unsafe DBusError.of(message) { return .failure(error) }
    do throws(Errno) {
      var reader = unsafe DBusReader(message, limit)
      return .success(
        DBusMessage(
          values: try reader.all(),
          sender: unsafe sd_bus_message_get_sender(message).map { unsafe String(cString: $0) } ?? "",
          path: unsafe sd_bus_message_get_path(message).map { unsafe String(cString: $0) } ?? "",
          isDirected: unsafe sd_bus_message_get_destination(message) != nil))
    } catch {
      return .failure(.failed(error))
    }
  }

  // MARK: Signals

  @safe final class Match {
    fileprivate let handle: (DBusMessage) -> Void
    fileprivate var slot: OpaquePointer?

    fileprivate init(_ handle: @escaping (DBusMessage) -> Void) { self.handle = handle }

    isolated deinit { unsafe sd_bus_slot_unref(slot) }
  }

  /// Calls `handle` for broadcast signals that match `rule`, until the caller releases the result. `handle`
  /// must not block. sd-bus does not check a sender that `rule` gives by a well-known name. So `handle` also
  /// gets such signals of other senders, if D-Bus delivers them for another rule of this connection.
  /// Therefore, `DBusSignals` checks the sender.
  func match(_ rule: String, _ handle: @escaping (DBusMessage) -> Void) throws(Errno) -> Match {
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
    // Signals that are addressed to this connection bypass the match rules, so this code ignores them.
    if case .success(let signal) = unsafe received(message, limit: .signal), !signal.isDirected {
      MainActor.assumeIsolated { receiver.handle(signal) }
    }
    return 0
  }
}
