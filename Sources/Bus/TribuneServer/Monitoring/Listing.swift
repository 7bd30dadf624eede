// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// A list in progress. Every user may request lists, and a list of all registrations can take a tenth of a
/// second. The bus therefore makes and sends a list in parts. The list can lack changes during this time.
final class Listing {
  let request: ByteBuffer
  let header: FrameHeader
  /// Nil until the list begins.
  var parts: AnyIterator<[Entry]>?
  /// Sorts or replaces all entries before the first is sent; nil if the bus sends each part at once.
  var arrange: (([Entry]) -> [Entry])?
  var entries: [Entry] = []

  init(_ frame: FrameView) {
    request = ByteBuffer(capacity: frame.bytes.byteCount)
    request.append(frame.bytes)
    header = frame.header
  }

  var hasBegun: Bool { parts != nil }

  /// - Returns: the next part to send, which is empty while entries are being collected; nil at the end.
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
