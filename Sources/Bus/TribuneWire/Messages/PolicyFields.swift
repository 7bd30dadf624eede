// SPDX-License-Identifier: Apache-2.0

/// A policy in the payload of a `list` frame, with ids instead of the names of users and groups.
package struct PolicyFields: Equatable, Sendable {
  /// nil if the bus has no policy.
  package var lines: [AccessLine]?

  package init(_ lines: [AccessLine]?) { self.lines = lines }

  package init(_ payload: RawSpan) throws(WireError) {
    var reader = FieldReader(payload)
    guard try reader.flag() else { return }
    var lines: [AccessLine] = []
    while !reader.isAtEnd { lines.append(try AccessLine(from: &reader)) }
    self.lines = lines
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(lines != nil)
    for line in lines ?? [] { line.append(to: buffer) }
  }
}
