// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The bytes of a memory file, mapped without a copy.
@safe package final class MappedBytes: Sendable {
  private let address: UInt
  package let count: Int

  /// - Parameter file: the caller may close it afterwards.
  package init(_ file: MemoryFile) throws(Errno) {
    // mmap(2) refuses an empty range.
    precondition(file.length > 0)
    // Before Linux 6.7, a sealed file cannot be mapped as shared, even for reading.
    let mapped = unsafe mmap(nil, file.length, PROT_READ, MAP_PRIVATE, file.rawDescriptor, 0)
    guard let mapped = unsafe mapped, unsafe mapped != MAP_FAILED else { throw .current }
    address = UInt(bitPattern: mapped)
    count = file.length
  }

  deinit {
    let result = unsafe munmap(UnsafeMutableRawPointer(bitPattern: address), count)
    precondition(result == 0, "the mapping cannot be removed: \(Errno.current)")
  }

  package var bytes: RawSpan {
    @_lifetime(borrow self)
    get {
      guard let start = unsafe UnsafeRawPointer(bitPattern: address) else {
        preconditionFailure("the mapping has no address")
      }
      let span = unsafe RawSpan(_unsafeStart: start, byteCount: count)
      return unsafe _overrideLifetime(span, borrowing: self)
    }
  }
}
