// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// userInfo that comes as a sealed file in memory, and goes on as the same file to whoever takes one.
///
/// The bus never maps such a file. It copies what it reads of one: for observers that take no files, and to check it
/// against the protocol of an object. A frame with a file has a buffer of its own, so that the buffer it was read into is
/// not kept for its sake.
final class UserInfoFiles {
  let quota: DescriptorQuota
  private let log: Log
  private let frames = Cell(FileFrames())
  /// The last post with a file, and the copy for observers that take no files.
  private var lastInlined: (original: ByteBuffer, copy: ByteSlice)?

  init(_ quota: DescriptorQuota, log: Log) {
    self.quota = quota
    self.log = log
  }

  /// A buffer for a frame, with the file that came with it.
  ///
  /// - Throws: `invalidDescriptor`, `invalidValue`, `limitExceeded`; the descriptor is closed then.
  func frameBuffer(
    for frame: FrameView, with passed: consuming PassedDescriptors.Passed, of user: UInt32, limit: Int
  ) throws(WireError) -> ByteBuffer {
    let descriptor: FileDescriptor
    switch consume passed {
    case .descriptor(let passed): descriptor = passed
    case .lost: throw WireError(.limitExceeded, "the bus could have no more descriptors when one came")
    case .foreign: throw WireError(.invalidDescriptor, "\(MemoryFile.Flaw.notInMemory)")
    }
    let count = quota.files(of: user)
    let length: Int
    do throws(WireError) {
      length = try checkedLength(of: descriptor.rawValue, for: frame, count, of: user, limit: limit)
    } catch {
      quota.close(descriptor, of: user)
      throw error
    }
    return frames.value.make(with: descriptor, length: length, countedIn: (quota.files, count), of: user)
  }

  /// The length of a file that came with a frame and can be taken, in bytes.
  private func checkedLength(
    of descriptor: CInt, for frame: FrameView, _ count: InFlightFile.Count, of user: UInt32, limit: Int
  ) throws(WireError) -> Int {
    let length = Int(try frame.decode(Post.self).length)
    guard frame.header.payloadLength == 0 else {
      throw WireError(.invalidValue, "userInfo came in a descriptor and as payload")
    }
    guard length >= WireLimits.descriptorPayloadLength else {
      throw WireError(
        .invalidDescriptor,
        "userInfo in a descriptor has \(WireLimits.descriptorPayloadLength) bytes or more, not \(length)")
    }
    guard length <= limit else {
      throw WireError(.invalidValue, "userInfo of \(length) bytes is over the limit of \(limit)")
    }
    try quota.requireFileQuota(of: user, having: count)
    do throws(MemoryFile.Flaw) {
      try MemoryFile.check(descriptor, length: length)
    } catch {
      throw WireError(.invalidDescriptor, "userInfo of \(length) bytes is not in a sealed file: \(error)")
    }
    return length
  }

  /// The same frame with its userInfo as payload, for those who take no files: made once for all of them.
  ///
  /// - Returns: nil when the file cannot be read.
  func inlined(_ slice: ByteSlice) -> ByteSlice? {
    if let last = lastInlined, last.original === slice.buffer { return last.copy }
    guard let file = slice.buffer.attachment as? InFlightFile else {
      preconditionFailure("what is to be sent inline is no frame with a file")
    }
    let copy: ByteBuffer
    do throws(WireError) {
      copy = try ProgramHeap.buffer(capacity: slice.count + file.length)
    } catch {
      log.warning("a file of \(file.length) bytes cannot be read: \(error.message)")
      return nil
    }
    copy.appendInlined(slice.bytes, userInfoLength: file.length)
    do throws(Errno) {
      try MemoryFile.append(file, to: copy)
    } catch {
      log.warning("a file of \(file.length) bytes cannot be read: \(error)")
      return nil
    }
    let inline = ByteSlice(copy, 0..<copy.count)
    lastInlined = (slice.buffer, inline)
    return inline
  }

  /// Closes the files that nobody is to be sent any more.
  func endIteration() {
    lastInlined = nil
    if frames.value.areLent { frames.value.collect() }
  }
}
