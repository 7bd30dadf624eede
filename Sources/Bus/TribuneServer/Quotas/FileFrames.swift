// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Frames whose userInfo is in a file, each with a separate buffer.
///
/// The bus reuses up to `countMax` buffers, so most posts with a file need no allocation. A buffer does not
/// report its last use, so `collect` checks the buffers in `lent` at the end of each loop iteration.
struct FileFrames {
  private static let countMax = 8
  /// The initial capacity of a buffer in bytes: for a header, a few fields, name and object.
  static let frameLength = 560

  private var lent: [ByteBuffer] = []
  var areLent: Bool { !lent.isEmpty }
  private var free: [(buffer: ByteBuffer, file: InFlightFile)] = []

  mutating func make(
    with file: consuming FileDescriptor, length: Int, of user: UserDescriptors
  ) -> ByteBuffer {
    let buffer: ByteBuffer
    if let index = free.lastIndex(where: { $0.file.user === user }) {
      let found = free.remove(at: index)
      found.file.take(file, length: length)
      found.buffer.attach(found.file)
      buffer = found.buffer
    } else {
      let attachment = InFlightFile(of: user)
      attachment.take(file, length: length)
      buffer = ByteBuffer(capacity: Self.frameLength, attachment: attachment)
    }
    if lent.count < Self.countMax { lent.append(buffer) }
    return buffer
  }

  /// Closes the files that are no longer used. Must not be called during a send.
  mutating func collect() {
    var index = 0
    while index < lent.count {
      guard isKnownUniquelyReferenced(&lent[index]) else {
        index += 1
        continue
      }
      lent.swapAt(index, lent.count - 1)
      keep(lent.removeLast())
    }
  }

  private mutating func keep(_ buffer: ByteBuffer) {
    guard var file = buffer.removeAttachment() as? InFlightFile else {
      preconditionFailure("a frame with a file must have an attachment")
    }
    // Retained and buffered notifications share the frame's file, so the file can still be in use.
    guard isKnownUniquelyReferenced(&file), buffer.capacity <= Self.frameLength else { return }
    file.close()
    buffer.truncate(to: 0)
    if free.count == Self.countMax { free.removeFirst() }
    free.append((buffer, file))
  }
}
