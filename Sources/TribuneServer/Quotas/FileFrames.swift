// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// Frames whose userInfo lies in a file: each in a buffer of its own, to which the file is attached.
///
/// A few of these are used again, so that a post with a file allocates nothing. When one has been sent to everybody,
/// nothing says so, as nothing needs to for others, which go with their last slice: so these are looked at when an iteration
/// ends, and their files are closed then.
struct FileFrames {
  /// Those that are looked at, and those that are kept for later.
  private static let countMax = 8
  /// Bytes of a frame without its userInfo: the header, few fields, name and object.
  static let frameLength = 560

  private var lent: [ByteBuffer] = []
  /// Whether there are some to be looked at.
  var areLent: Bool { !lent.isEmpty }
  private var free: [(buffer: ByteBuffer, file: InFlightFile)] = []

  /// A buffer for one frame.
  ///
  /// - Parameters:
  ///   - file: what is attached to it, `length` bytes long.
  ///   - counts: of all files, and of those of the user who posted it.
  mutating func make(
    with file: consuming FileDescriptor, length: Int,
    countedIn counts: (all: InFlightFile.Count, user: InFlightFile.Count), of user: UInt32
  ) -> ByteBuffer {
    let buffer: ByteBuffer
    if let index = free.lastIndex(where: { $0.file.userCount === counts.user }) {
      let found = free.remove(at: index)
      found.file.hold(file, length: length)
      found.buffer.attach(found.file)
      buffer = found.buffer
    } else {
      let held = InFlightFile(countedIn: counts.all, counts.user, user: user)
      held.hold(file, length: length)
      buffer = ByteBuffer(capacity: Self.frameLength, attachment: held)
    }
    if lent.count < Self.countMax { lent.append(buffer) }
    return buffer
  }

  /// Closes the files that nobody is to be sent any more. To be called when nothing is under way.
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
      preconditionFailure("a frame with a file has lost it")
    }
    // What is retained or held for later is a copy of the frame, with the same file.
    guard isKnownUniquelyReferenced(&file), buffer.capacity <= Self.frameLength else { return }
    file.close()
    buffer.truncate(to: 0)
    if free.count == Self.countMax { free.removeFirst() }
    free.append((buffer, file))
  }
}
