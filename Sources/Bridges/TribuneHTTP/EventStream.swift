// SPDX-License-Identifier: Apache-2.0

import CMicrohttpd

/// A response that goes on for as long as the page is open: server-sent events.
///
/// It has no queue, only the event that is being written. What its reader has not had yet is where `next` finds it.
@safe final class EventStream {
  private let connection: OpaquePointer
  private let next: () -> [UInt8]?
  unowned let listener: HTTPListener
  /// What is not written yet of the event under way.
  private var event: ArraySlice<UInt8> = []
  private var isSuspended = false

  /// - Parameters:
  ///   - connection: exists for as long as the stream is read.
  ///   - next: the next event; nil if there is none yet.
  init(on connection: OpaquePointer, of listener: HTTPListener, _ next: @escaping () -> [UInt8]?) {
    unsafe self.connection = connection
    self.listener = listener
    self.next = next
  }

  /// Writes what there is into the buffer of libmicrohttpd. If there is nothing, the connection sleeps until `wake()`.
  ///
  /// - Returns: the number of bytes.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    var count = 0
    while count < buffer.count {
      if event.isEmpty { event = (next() ?? [])[...] }
      guard !event.isEmpty else { break }
      let part = event.prefix(buffer.count - count)
      unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyBytes(from: part)
      count += part.count
      event = event.dropFirst(part.count)
      // A slice that is empty keeps all of the event.
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
