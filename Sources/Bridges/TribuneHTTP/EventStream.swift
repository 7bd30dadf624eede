// SPDX-License-Identifier: Apache-2.0

import CMicrohttpd

/// The server-sent events of one open page. The stream buffers one event at most.
@safe final class EventStream {
  private let connection: OpaquePointer
  private let next: () -> [UInt8]?
  unowned let listener: HTTPListener
  private var event: ArraySlice<UInt8> = []
  private var isSuspended = false

  /// - Parameter connection: libmicrohttpd's connection, which must outlive the stream.
  init(on connection: OpaquePointer, of listener: HTTPListener, _ next: @escaping () -> [UInt8]?) {
    unsafe self.connection = connection
    self.listener = listener
    self.next = next
  }

  /// Fills `buffer` with events. If no event is ready, suspends the connection until `wake()`.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    var count = 0
    while count < buffer.count {
      if event.isEmpty { event = (next() ?? [])[...] }
      guard !event.isEmpty else { break }
      let part = event.prefix(buffer.count - count)
      unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyBytes(from: part)
      count += part.count
      event = event.dropFirst(part.count)
      // An empty slice of the event would still retain the event's bytes.
      if event.isEmpty { event = [] }
    }
    if count == 0 {
      isSuspended = true
      unsafe MHD_suspend_connection(connection)
    }
    return count
  }

  func wake() {
    guard isSuspended else { return }
    isSuspended = false
    unsafe MHD_resume_connection(connection)
  }
}
