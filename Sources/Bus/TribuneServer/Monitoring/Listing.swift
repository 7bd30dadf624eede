// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// A list in progress. It is made and sent in parts, because every user may request lists, and all
/// registrations can take a tenth of a second. Concurrent changes may be missing.
final class Listing {
  /// The requesting frame.
  let request: ByteBuffer
  let header: FrameHeader
  /// Makes the entries of the next part; nil until the list begins.
  var parts: AnyIterator<[Entry]>?
  /// Sorts the entries of all parts; nil if they are sent at once.
  var arrange: (([Entry]) -> [Entry])?
  /// Entries that wait for `arrange`.
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
