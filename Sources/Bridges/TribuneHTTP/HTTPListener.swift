// SPDX-License-Identifier: Apache-2.0

import CMicrohttpd
import Dispatch
package import TribuneSystem

/// A listening socket and its connections, which libmicrohttpd serves on the main queue. Each connection
/// takes one request, and has a deadline unless the response is an event stream.
@safe package final class HTTPListener {
  package struct Limits {
    package var connections: Int
    package var streams: Int

    package init(connections: Int, streams: Int) {
      (self.connections, self.streams) = (connections, streams)
    }
  }

  /// Bytes of memory per connection, for the request's header and the current part of the response.
  private static let connectionMemory = 32 << 10
  nonisolated package static let bodyMax = 4 << 10
  private static let idleSeconds: UInt32 = 10
  private static let deadlineNanoseconds: UInt64 = 30_000_000_000
  /// The limit of all unwritten responses together, in bytes. A single response can exceed the limit if no
  /// other response is unwritten.
  private static let unwrittenBytesMax = 32 << 20

  private struct Exchange {
    /// When the connection began, in monotonic nanoseconds; nil for an event stream, which has no deadline.
    var begin: UInt64?
    var byteCount = 0
    var reading: Reading?
  }

  private final class Reading {
    let respond: ([UInt8]) async -> HTTPResponse
    var body: [UInt8] = []
    var response: HTTPResponse?

    init(_ respond: @escaping ([UInt8]) async -> HTTPResponse) { self.respond = respond }
  }

  private let limits: Limits
  private let answer: (HTTPRequest) -> HTTPAnswer
  private var daemon: OpaquePointer?
  private var readable: (any DispatchSourceRead)?
  private let timer = DispatchSource.makeTimerSource(queue: .main)
  private var isScheduled = false
  /// The key is the address of libmicrohttpd's connection.
  private var exchanges: [UInt: Exchange] = [:]
  private var streams: [ObjectIdentifier: EventStream] = [:]

  package init(
    on socket: consuming FileDescriptor, _ limits: Limits, answer: @escaping (HTTPRequest) -> HTTPAnswer
  ) throws(Errno) {
    self.limits = limits
    self.answer = answer
    try socket.setNonblocking()
    let descriptor = socket.rawValue
    // One client address must not use all connections. For Unix sockets, libmicrohttpd ignores the limit per
    // address.
    var settings = unsafe tribune_http_settings(
      socket: descriptor, connections_max: UInt32(limits.connections),
      connections_max_per_address: UInt32(limits.connections / 2), memory_max: Self.connectionMemory,
      idle_seconds_max: Self.idleSeconds, answer: Self.receiveRequest, notify: Self.connectionChanged,
      context: Unmanaged.passUnretained(self).toOpaque())
    guard let daemon = unsafe tribune_http_start(&settings) else { throw .inputOutput }
    _ = socket.release()
    unsafe self.daemon = daemon
    let events = DispatchSource.makeReadSource(
      fileDescriptor: unsafe tribune_http_events(daemon), queue: .main)
    events.setEventHandler { [unowned self] in run() }
    events.activate()
    readable = events
    timer.setEventHandler { [unowned self] in
      endOverdue()
      run()
    }
    timer.schedule(deadline: .now() + 1, repeating: 1)
    timer.activate()
  }

  package var streamCount: Int { streams.count }

  package func wake() {
    guard !streams.isEmpty else { return }
    for stream in streams.values { stream.wake() }
    run()
  }

  private func run() {
    guard let daemon = unsafe daemon else { return }
    unsafe MHD_run(daemon)
    var milliseconds: UInt64 = 0
    // If libmicrohttpd has more to do, a new work item calls `run` again. A loop here would keep the main
    // queue from other work.
    guard unsafe MHD_get_timeout(daemon, &milliseconds) == .YES, milliseconds == 0, !isScheduled else {
      return
    }
    isScheduled = true
    DispatchQueue.main.async { [unowned self] in
      isScheduled = false
      run()
    }
  }

  private func endOverdue() {
    let now = SystemClock.monotonicNanoseconds
    for (key, exchange) in exchanges {
      guard let begin = exchange.begin, now - begin > Self.deadlineNanoseconds,
        let connection = unsafe OpaquePointer(bitPattern: key)
      else { continue }
      FileDescriptor.lending(unsafe tribune_http_socket(connection)) { UnixSocket.shutdown($0) }
    }
  }

  // MARK: Callbacks

  nonisolated private static let connectionChanged: MHD_NotifyConnectionCallback = {
    context, connection, _, event in
    guard let context = unsafe context, let connection = unsafe connection else { return }
    let listener = unsafe Unmanaged<HTTPListener>.fromOpaque(context).takeUnretainedValue()
    let key = UInt(bitPattern: connection)
    MainActor.assumeIsolated {
      listener.exchanges[key] =
        event == .CONNECTION_NOTIFY_STARTED ? Exchange(begin: SystemClock.monotonicNanoseconds) : nil
    }
  }

  nonisolated private static let receiveRequest: MHD_AccessHandlerCallback = {
    context, connection, path, method, _, data, count, _ in
    guard let context = unsafe context, let connection = unsafe connection, let path = unsafe path,
      let method = unsafe method, let count = unsafe count
    else { return .NO }
    let listener = unsafe Unmanaged<HTTPListener>.fromOpaque(context).takeUnretainedValue()
    let line = unsafe (method: String(cString: method), path: String(cString: path))
    let part = unsafe [UInt8](UnsafeRawBufferPointer(start: data, count: count.pointee))
    unsafe count.pointee = 0
    let key = UInt(bitPattern: connection)
    return MainActor.assumeIsolated {
      guard let connection = unsafe OpaquePointer(bitPattern: key) else { return .NO }
      if let reading = listener.exchanges[key]?.reading {
        return unsafe listener.proceed(reading, with: part, on: connection)
      }
      let request = unsafe HTTPRequest(line.method, line.path, fields: fields(of: connection))
      return unsafe listener.perform(listener.answer(request), on: connection)
    }
  }

  nonisolated private static func fields(of connection: OpaquePointer) -> [String: [String]] {
    var fields: [String: [String]] = [:]
    unsafe withUnsafeMutablePointer(to: &fields) { fields in
      _ = unsafe MHD_get_connection_values(
        connection, .HEADER_KIND,
        { fields, _, name, value in
          guard let fields = unsafe fields?.assumingMemoryBound(to: [String: [String]].self),
            let name = unsafe name
          else { return .NO }
          let text = unsafe value.map { unsafe String(cString: $0) } ?? ""
          unsafe fields.pointee[String(cString: name).lowercased(), default: []].append(text)
          return .YES
        }, fields)
    }
    return fields
  }

  private func perform(_ answer: HTTPAnswer, on connection: OpaquePointer) -> MHD_Result {
    switch answer {
    case .response(let response) where !canSend(response):
      return unsafe respond(
        with: HTTPResponse(503, "too much is being sent", fields: ["Retry-After": "1"]), on: connection)
    case .response(let response): return unsafe respond(with: response, on: connection)
    case .events where streams.count >= limits.streams:
      return unsafe respond(
        with: HTTPResponse(503, "too many pages are open", fields: ["Retry-After": "10"]), on: connection)
    case .events(let next): return unsafe openStream(on: connection, next)
    case .body(let respond):
      exchanges[UInt(bitPattern: connection)]?.reading = Reading(respond)
      return .YES
    }
  }

  // MARK: Requests with a body

  /// `receiveRequest` calls this with each part of the body, with an empty part at the body's end, and again
  /// once the response is known.
  private func proceed(
    _ reading: Reading, with part: [UInt8], on connection: OpaquePointer
  ) -> MHD_Result {
    if let response = reading.response {
      // `reading` need not keep the response, because `perform` gives libmicrohttpd a copy.
      reading.response = nil
      return unsafe perform(.response(response), on: connection)
    }
    guard part.isEmpty else {
      guard reading.body.count + part.count <= Self.bodyMax else { return .NO }
      reading.body += part
      return .YES
    }
    let key = UInt(bitPattern: connection)
    // Until a suspended connection is resumed, libmicrohttpd keeps it, so the address in `key` stays valid.
    unsafe MHD_suspend_connection(connection)
    Task {
      reading.response = await reading.respond(reading.body)
      guard let connection = unsafe OpaquePointer(bitPattern: key) else { return }
      unsafe MHD_resume_connection(connection)
      run()
    }
    return .YES
  }

  // MARK: Responses

  private func canSend(_ response: HTTPResponse) -> Bool {
    let unwritten = exchanges.values.reduce(0) { $0 + $1.byteCount }
    return unwritten == 0 || unwritten + response.body.count <= Self.unwrittenBytesMax
  }

  private func respond(with response: HTTPResponse, on connection: OpaquePointer) -> MHD_Result {
    var body = response.body
    exchanges[UInt(bitPattern: connection)]?.byteCount = body.count
    let made = unsafe MHD_create_response_from_buffer(body.count, &body, .RESPMEM_MUST_COPY)
    return unsafe queue(made, response.status, response.type, response.fields, on: connection)
  }

  private func openStream(on connection: OpaquePointer, _ next: @escaping () -> [UInt8]?) -> MHD_Result {
    let stream = unsafe EventStream(on: connection, of: self, next)
    let made = unsafe MHD_create_response_from_callback(
      UInt64.max, Self.connectionMemory / 2, Self.readStream, Unmanaged.passRetained(stream).toOpaque(),
      Self.closeStream)
    guard unsafe made != nil else { return .NO }
    streams[ObjectIdentifier(stream)] = stream
    exchanges[UInt(bitPattern: connection)]?.begin = nil
    return unsafe queue(made, 200, "text/event-stream", [:], on: connection)
  }

  private func queue(
    _ response: OpaquePointer?, _ status: UInt32, _ type: String, _ fields: [String: String],
    on connection: OpaquePointer
  ) -> MHD_Result {
    guard let response = unsafe response else { return .NO }
    defer { unsafe MHD_destroy_response(response) }
    let all = HTTPResponse.commonFields.merging(fields) { $1 }.merging(["Content-Type": type]) { $1 }
    for (name, value) in all {
      guard unsafe MHD_add_response_header(response, name, value) == .YES else { return .NO }
    }
    return unsafe MHD_queue_response(connection, status, response)
  }

  nonisolated private static let readStream: MHD_ContentReaderCallback = { context, _, buffer, capacity in
    guard let context = unsafe context, let buffer = unsafe buffer else { return -1 }
    let stream = unsafe Unmanaged<EventStream>.fromOpaque(context).takeUnretainedValue()
    let start = UInt(bitPattern: buffer)
    return MainActor.assumeIsolated {
      unsafe stream.read(
        into: UnsafeMutableRawBufferPointer(
          start: UnsafeMutableRawPointer(bitPattern: start), count: capacity))
    }
  }

  nonisolated private static let closeStream: MHD_ContentReaderFreeCallback = { context in
    guard let context = unsafe context else { return }
    let stream = unsafe Unmanaged<EventStream>.fromOpaque(context).takeRetainedValue()
    MainActor.assumeIsolated { stream.listener.streams[ObjectIdentifier(stream)] = nil }
  }
}
