// SPDX-License-Identifier: Apache-2.0

import CMicrohttpd

/// A response that goes on for as long as the page is open: server-sent events.
///
/// It has no queue. What its reader has not had yet is in the feed, and a reader that is too slow for what the feed keeps is
/// told what it has missed.
@safe final class EventStream {
  private let connection: OpaquePointer
  private let next: (inout Feed.Cursor) -> [UInt8]
  private var cursor = Feed.Cursor()
  private var chunk: ArraySlice<UInt8> = []
  private var isSuspended = false

  /// - Parameters:
  ///   - connection: exists for as long as the stream is read.
  ///   - next: what there is behind a cursor; empty if there is nothing.
  init(on connection: OpaquePointer, _ next: @escaping (inout Feed.Cursor) -> [UInt8]) {
    unsafe self.connection = connection
    self.next = next
  }

  /// Writes what there is into the buffer of libmicrohttpd. If there is nothing, the connection sleeps until `wake()`.
  ///
  /// - Returns: the number of bytes.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    if chunk.isEmpty { chunk = next(&cursor)[...] }
    guard !chunk.isEmpty else {
      isSuspended = true
      unsafe MHD_suspend_connection(connection)
      return 0
    }
    let part = chunk.prefix(buffer.count)
    unsafe buffer.copyBytes(from: part)
    chunk = chunk.dropFirst(part.count)
    return part.count
  }

  /// The feed has something new. The listener has to run.
  func wake() {
    guard isSuspended else { return }
    isSuspended = false
    unsafe MHD_resume_connection(connection)
  }
}
