// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// A list in progress. Made and sent in parts, because every user may request lists, and all registrations
/// can take a tenth of a second. Concurrent changes may be missing.
final class Listing {
  let request: ByteBuffer
  let header: FrameHeader
  /// Nil until the list begins.
  var parts: AnyIterator<[Entry]>?
  /// Nil if entries are sent at once.
  var arrange: (([Entry]) -> [Entry])?
  var entries: [Entry] = []

  init(_ frame: FrameView) {
    request = ByteBuffer(capacity: frame.bytes.byteCount)
    request.append(frame.bytes)
    header = frame.header
  }

  var hasBegun: Bool { parts != nil }

  /// - Returns: an empty part if entries were only made; nil at the end.
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
