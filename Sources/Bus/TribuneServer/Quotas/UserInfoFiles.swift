// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// userInfo in sealed memory files, which the bus forwards to observers that accept files.
///
/// The bus never maps a file. It reads a file only for observers that do not accept files, to check the
/// contents against a protocol, and to log a waiting post.
final class UserInfoFiles {
  let quota: DescriptorQuota
  private let log: Log
  private let frames = Cell(FileFrames())
  private var lastInlined: (original: ByteBuffer, copy: ByteSlice)?

  init(_ quota: DescriptorQuota, log: Log) {
    self.quota = quota
    self.log = log
  }

  /// If this method throws, it also closes the descriptor.
  func frameBuffer(
    for frame: FrameView, with passed: consuming PassedDescriptors.Passed, of account: UserAccount, limit: Int
  ) throws(WireError) -> ByteBuffer {
    let descriptor: FileDescriptor
    switch consume passed {
    case .descriptor(let passed): descriptor = passed
    case .lost: throw WireError(.limitExceeded, "the bus could not receive the descriptor: it has too many")
    case .foreign: throw WireError(.invalidDescriptor, "\(MemoryFile.Flaw.notInMemory)")
    }
    let length: Int
    do throws(WireError) {
      length = try checkedLength(of: descriptor.rawValue, for: frame, of: account, limit: limit)
    } catch {
      quota.close(descriptor, of: account.descriptors)
      throw error
    }
    return frames.value.make(with: descriptor, length: length, of: account.descriptors)
  }

  private func checkedLength(
    of descriptor: CInt, for frame: FrameView, of account: UserAccount, limit: Int
  ) throws(WireError) -> Int {
    let length = Int(try frame.decode(Post.self).length)
    guard frame.header.payloadLength == 0 else {
      throw WireError(.invalidValue, "userInfo came in a descriptor and as payload")
    }
    guard length >= WireLimits.descriptorPayloadLength else {
      throw WireError(
        .invalidDescriptor,
        "userInfo in a descriptor must have at least \(WireLimits.descriptorPayloadLength) bytes, not \(length)"
      )
    }
    guard length <= limit else {
      throw WireError(
        .invalidValue, "userInfo of \(length) bytes is over the limit of \(limit) (PayloadMax=)")
    }
    try quota.requireFileQuota(of: account)
    do throws(MemoryFile.Flaw) {
      try MemoryFile.check(descriptor, length: length)
    } catch {
      throw WireError(.invalidDescriptor, "userInfo of \(length) bytes is not in a sealed file: \(error)")
    }
    return length
  }

  /// The frame with its userInfo as payload. Consecutive calls for a frame in an iteration share a copy.
  ///
  /// - Returns: nil if the file cannot be read.
  func inlined(_ slice: ByteSlice) -> ByteSlice? {
    if let last = lastInlined, last.original === slice.buffer { return last.copy }
    guard let file = slice.buffer.attachment as? InFlightFile else {
      preconditionFailure("a frame to be sent inline must have a file")
    }
    let copy: ByteBuffer
    do throws(WireError) {
      copy = try ProgramHeap.buffer(capacity: slice.count + file.length)
    } catch {
      log.warning("cannot read a file of \(file.length) bytes: \(error.message)")
      return nil
    }
    copy.appendInlined(slice.bytes, userInfoLength: file.length)
    do throws(Errno) {
      try MemoryFile.append(file, to: copy)
    } catch {
      log.warning("cannot read a file of \(file.length) bytes: \(error)")
      return nil
    }
    let inline = ByteSlice(copy, 0..<copy.count)
    lastInlined = (slice.buffer, inline)
    return inline
  }

  func endIteration() {
    lastInlined = nil
    if frames.value.areLent { frames.value.collect() }
  }
}
