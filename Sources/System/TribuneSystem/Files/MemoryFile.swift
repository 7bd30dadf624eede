// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
package import TribuneWire

/// An immutable file in memory. Its seals make it safe to pass on and to map. If another process made the
/// file, its seals must be checked first.
package final class MemoryFile: AttachedFile {
  package enum Flaw: Error, Equatable, Sendable {
    case notInMemory
    case notReadable
    case notWritable
    /// A process could still resize the file, or write to it although it must be immutable.
    case notSealed
    /// The file's length differs from the announced one.
    case hasLength(Int)
    case failed(Errno)
  }

  private static let seals =
    TRIBUNE_F_SEAL_SEAL | TRIBUNE_F_SEAL_SHRINK | TRIBUNE_F_SEAL_GROW | TRIBUNE_F_SEAL_WRITE

  package let length: Int
  private let descriptor: FileDescriptor

  package var rawDescriptor: CInt { descriptor.rawValue }

  package init(holding bytes: RawSpan) throws(Errno) {
    length = bytes.byteCount
    descriptor = try Self.make(holding: bytes)
  }

  /// Takes a file from another process, and checks it. Closes the descriptor after an error.
  package init(checking descriptor: consuming FileDescriptor, length: Int) throws(Flaw) {
    try Self.check(descriptor.rawValue, length: length)
    self.length = length
    self.descriptor = descriptor
  }

  static func make(holding bytes: RawSpan) throws(Errno) -> FileDescriptor {
    let file = try makeEmpty("tribune", for: bytes.byteCount)
    let descriptor = file.rawValue
    var written = 0
    while written < bytes.byteCount {
      let rest = bytes.extracting(droppingFirst: written)
      let offset = off_t(written)
      written += try retrying {
        unsafe rest.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, offset) }
      }
    }
    _ = try retrying { fcntl(descriptor, TRIBUNE_F_ADD_SEALS, seals) }
    return file
  }

  /// Makes a file without seals. Throws `Errno.fileTooBig` if `length` exceeds this process's limit for
  /// files, because the kernel would enforce that limit by a signal.
  static func makeEmpty(_ name: String, for length: Int) throws(Errno) -> FileDescriptor {
    var limit = rlimit()
    _ = try retrying { unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) }
    guard UInt64(length) <= limit.rlim_cur else { throw .fileTooBig }
    let flags = CUnsignedInt(MFD_CLOEXEC) | CUnsignedInt(MFD_ALLOW_SEALING)
    return FileDescriptor(owning: try retrying { unsafe memfd_create(name, flags) })
  }

  /// True for a memory file, on which calls never block. On any other file, the process behind the descriptor
  /// may delay calls for ever.
  package static func isInMemory(_ descriptor: CInt) -> Bool { fcntl(descriptor, TRIBUNE_F_GET_SEALS) != -1 }

  /// Throws if the file is not an immutable, readable memory file of this length. Never blocks.
  package static func check(_ descriptor: CInt, length: Int) throws(Flaw) {
    let facts = try MemoryFileFacts(of: descriptor)
    guard facts.access != O_WRONLY else { throw .notReadable }
    guard facts.seals & seals == seals else { throw .notSealed }
    guard facts.length == length else { throw .hasLength(facts.length) }
  }

  package static func append(_ file: some AttachedFile, to buffer: ByteBuffer) throws(Errno) {
    let descriptor = file.rawDescriptor
    let length = file.length
    buffer.reserve(length)
    var offset = 0
    while offset < length {
      let rest = length - offset
      let start = off_t(offset)
      let count = buffer.count
      unsafe try buffer.appendFilling { free throws(Errno) in
        try retrying { unsafe pread(descriptor, free.baseAddress, min(free.count, rest), start) }
      }
      precondition(buffer.count > count, "a sealed file has become shorter")
      offset += buffer.count - count
    }
  }
}

extension MemoryFile.Flaw: CustomStringConvertible {
  package var description: String {
    switch self {
    case .notInMemory: "the descriptor is not that of a file in memory"
    case .notReadable: "the descriptor cannot be read"
    case .notWritable: "the descriptor cannot be written"
    case .notSealed: "the file is not sealed"
    case .hasLength(let length): "the file has \(length) bytes"
    case .failed(let error): "the descriptor cannot be examined: \(error)"
    }
  }
}
