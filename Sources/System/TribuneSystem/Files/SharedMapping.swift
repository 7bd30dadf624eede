// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// A shared file, mapped for reading and writing. A store survives a kill of this process. The compiler may
/// reorder stores, but not across a `publish`.
@safe @usableFromInline package struct SharedMapping: ~Copyable {
  @usableFromInline let address: UnsafeMutableRawPointer
  @usableFromInline package let count: Int

  /// - Parameter file: the caller may close it afterwards.
  package init(_ file: borrowing SharedFile) throws(Errno) {
    // mmap(2) refuses an empty range.
    precondition(file.length > 0)
    let mapped = unsafe mmap(nil, file.length, PROT_READ | PROT_WRITE, MAP_SHARED, file.rawDescriptor, 0)
    guard let mapped = unsafe mapped, unsafe mapped != MAP_FAILED else { throw .current }
    unsafe address = mapped
    count = file.length
    // The file may be much longer than the memory that it uses, and a core dump would include the whole file.
    _ = unsafe madvise(mapped, count, MADV_DONTDUMP)
  }

  deinit {
    let result = unsafe munmap(address, count)
    precondition(result == 0, "the mapping cannot be removed: \(Errno.current)")
  }

  /// The caller must drop the span before it stores to the same place.
  @_lifetime(borrow self)
  package func bytes(in range: Range<Int>) -> RawSpan {
    unsafe _overrideLifetime(unboundBytes(in: range), borrowing: self)
  }

  /// The caller must drop the span before the mapping ends.
  @_lifetime(immortal)
  @unsafe @inlinable @inline(__always) package func unboundBytes(in range: Range<Int>) -> RawSpan {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    let span = unsafe RawSpan(_unsafeStart: address + range.lowerBound, byteCount: range.count)
    return unsafe _overrideLifetime(span, borrowing: ())
  }

  /// The caller must drop the span before any other access to the same bytes.
  @_lifetime(immortal)
  @unsafe @inlinable @inline(__always)
  package func unboundMutableBytes(in range: Range<Int>) -> MutableRawSpan {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    let span = unsafe MutableRawSpan(_unsafeStart: address + range.lowerBound, byteCount: range.count)
    return unsafe _overrideLifetime(span, borrowing: ())
  }

  /// Copies `source` into the mapping. `source` may be a part of the mapping itself.
  package func store(_ source: RawSpan, at offset: Int) {
    precondition(offset >= 0 && offset <= count && source.byteCount <= count - offset)
    unsafe source.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      unsafe (address + offset).copyMemory(from: start, byteCount: bytes.count)
    }
  }

  package func load(at offset: Int) -> UInt64 { unsafe word(at: offset).pointee }

  package func store(_ value: UInt64, at offset: Int) { unsafe word(at: offset).pointee = value }

  /// Stores a value after all stores that precede this call, and before all that follow the call.
  package func publish(_ value: UInt64, at offset: Int) { unsafe tribune_publish(word(at: offset), value) }

  private func word(at offset: Int) -> UnsafeMutablePointer<UInt64> {
    precondition(offset >= 0 && offset <= count - 8 && offset % 8 == 0)
    return unsafe (address + offset).assumingMemoryBound(to: UInt64.self)
  }

  /// The rows must not outlive the mapping.
  @unsafe package func rows(at offset: Int, count rowCount: Int) -> Rows {
    precondition(offset >= 0 && offset <= count && offset % 8 == 0 && rowCount >= 0)
    precondition(rowCount <= (count - offset) / (8 * Rows.wordCount))
    let first = unsafe (address + offset).assumingMemoryBound(to: UInt64.self)
    return unsafe Rows(first, count: rowCount)
  }

  /// Rows of eight words of 64 bits.
  @safe @usableFromInline package struct Rows {
    package static let wordCount = 8

    @usableFromInline let first: UnsafeMutablePointer<UInt64>
    @usableFromInline package let count: Int

    @unsafe fileprivate init(_ first: UnsafeMutablePointer<UInt64>, count: Int) {
      unsafe self.first = unsafe first
      self.count = count
    }

    @inlinable package subscript(row: Int, word: Int) -> UInt64 {
      @inline(__always) get { unsafe address(of: row, word).pointee }
      @inline(__always) nonmutating set { unsafe address(of: row, word).pointee = newValue }
    }

    /// Like `SharedMapping.publish`.
    package func publish(_ value: UInt64, row: Int, word: Int) {
      unsafe tribune_publish(address(of: row, word), value)
    }

    @inlinable @inline(__always)
    func address(of row: Int, _ word: Int) -> UnsafeMutablePointer<UInt64> {
      // Negative indices become very large unsigned numbers, which this check also refuses.
      precondition(UInt(bitPattern: row) < UInt(bitPattern: count) && UInt(bitPattern: word) < 8)
      return unsafe first + (row &* 8 &+ word)
    }
  }
}

extension MutableRawSpan {
  @inlinable @inline(__always) package mutating func store(_ value: UInt64, at offset: Int) {
    storeBytes(of: value, toByteOffset: offset, as: UInt64.self)
  }

  @inlinable @inline(__always) package mutating func store(_ source: RawSpan, at offset: Int) {
    precondition(offset >= 0 && offset <= byteCount && source.byteCount <= byteCount - offset)
    unsafe withUnsafeMutableBytes { bytes in
      unsafe source.withUnsafeBytes { source in
        guard let start = source.baseAddress, let place = bytes.baseAddress else { return }
        unsafe (place + offset).copyMemory(from: start, byteCount: source.count)
      }
    }
  }
}
