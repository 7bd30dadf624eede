// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// A list that a client gets.
///
/// It is made and sent in parts, because the bus can have as many registrations as take a tenth of a second, and every
/// user can ask for lists. What comes or goes meanwhile may be missing in it.
final class Listing {
  /// The frame that asked for it.
  let request: ByteBuffer
  let header: FrameHeader
  /// Makes the entries of the next part; nil until the list is begun.
  var parts: AnyIterator<[Entry]>?
  /// Puts the entries of all parts in order; nil if they are sent as they are made.
  var arrange: (([Entry]) -> [Entry])?
  /// Those that were made, and wait for that.
  var entries: [Entry] = []

  init(_ frame: FrameView) {
    request = ByteBuffer(capacity: frame.bytes.byteCount)
    request.append(frame.bytes)
    header = frame.header
  }

  var hasBegun: Bool { parts != nil }

  /// The next part to send.
  ///
  /// - Returns: an empty part if there was only something to make; nil at the end.
  func next() -> [Entry]? {
    if let part = parts?.next() {
      guard arrange != nil else { return part }
      entries += part
      return []
    }
    guard let arrange else { return nil }
    let arranged = arrange(entries)
    self.arrange = nil
    entries = []
    parts = AnyIterator(arranged.lazy.map { [$0] }.makeIterator())
    return []
  }
}
