// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
package import TribuneWire

/// A file that is only in memory and that nobody can change any more, whoever holds a descriptor of it.
///
/// The seals are what makes it safe to pass on and to map: its bytes stay what they are and where they are. So
/// they are looked at first when one comes from somebody else.
package final class MemoryFile: AttachedFile {
  /// What keeps a file that somebody passed from being read.
  package enum Flaw: Error, Equatable, Sendable {
    case notInMemory
    case notReadable
    /// Somebody could still write to it, or make it longer or shorter.
    case notSealed
    /// It has so many bytes, which is not what was said.
    case hasLength(Int)
    case failed(Errno)
  }

  /// It can be read, and not be written to, shortened or lengthened, and that stays so.
  private static let seals =
    TRIBUNE_F_SEAL_SEAL | TRIBUNE_F_SEAL_SHRINK | TRIBUNE_F_SEAL_GROW | TRIBUNE_F_SEAL_WRITE

  /// Bytes.
  package let length: Int
  private let descriptor: FileDescriptor

  package var rawDescriptor: CInt { descriptor.rawValue }

  /// Makes a file that holds `bytes`.
  package init(holding bytes: RawSpan) throws(Errno) {
    length = bytes.byteCount
    descriptor = try Self.make(holding: bytes)
  }

  /// Takes a file that somebody passed.
  ///
  /// - Parameter length: how long it was said to be.
  /// - Throws: `Flaw`; the descriptor is closed then.
  package init(checking descriptor: consuming FileDescriptor, length: Int) throws(Flaw) {
    try Self.check(descriptor.rawValue, length: length)
    self.length = length
    self.descriptor = descriptor
  }

  /// A file that holds `bytes`, to be read from its start.
  static func make(holding bytes: RawSpan) throws(Errno) -> FileDescriptor {
    try checkLimit(length: bytes.byteCount)
    let flags = CUnsignedInt(MFD_CLOEXEC) | CUnsignedInt(MFD_ALLOW_SEALING)
    let file = FileDescriptor(owning: try retrying { unsafe memfd_create("tribune", flags) })
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

  /// Throws unless this process may make a file of `length` bytes. One that tries to nevertheless is ended by a
  /// signal.
  static func checkLimit(length: Int) throws(Errno) {
    var limit = rlimit()
    _ = try retrying { unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) }
    guard UInt64(length) <= limit.rlim_cur else { throw Errno(rawValue: EFBIG) }
  }

  /// Whether a descriptor that somebody passed is one of a file in memory, of which all else can be asked without
  /// waiting. Of any other, whoever is behind it may be asked, and answer when it likes.
  package static func isInMemory(_ descriptor: CInt) -> Bool { fcntl(descriptor, TRIBUNE_F_GET_SEALS) != -1 }

  /// Looks at a file that somebody passed, and does not wait.
  ///
  /// - Parameter length: how long it was said to be.
  package static func check(_ descriptor: CInt, length: Int) throws(Flaw) {
    let facts: MemoryFileFacts?
    do throws(Errno) {
      facts = try MemoryFileFacts(of: descriptor)
    } catch {
      throw .failed(error)
    }
    guard let facts else { throw .notInMemory }
    guard facts.access != O_WRONLY else { throw .notReadable }
    guard facts.seals & seals == seals else { throw .notSealed }
    guard facts.length == length else { throw .hasLength(facts.length) }
  }

  /// Appends the bytes of a file that was checked to `buffer`. What the file has never been given memory for stays
  /// without.
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
      // The seals say that there is more.
      precondition(buffer.count > count, "a sealed file has become shorter")
      offset += buffer.count - count
    }
  }
}

extension MemoryFile.Flaw: CustomStringConvertible {
  package var description: String {
    switch self {
    case .notInMemory: "the descriptor is none of a file in memory"
    case .notReadable: "the descriptor cannot be read"
    case .notSealed: "the file is not sealed"
    case .hasLength(let length): "the file has \(length) bytes"
    case .failed(let error): "the descriptor cannot be looked at: \(error)"
    }
  }
}
