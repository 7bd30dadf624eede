// SPDX-License-Identifier: Apache-2.0

/// A variable of a class without the run-time check for exclusive access, which was a third of the daemon's
/// work for a post, and a quarter for a query.
///
/// The owner must guarantee exclusivity instead: code that a mutating method of the value calls must not
/// access the cell. Only the owner's isolation may access it.
@safe @usableFromInline package struct Cell<Value: ~Copyable>: ~Copyable {
  @usableFromInline let address: UnsafeMutablePointer<Value>

  @inlinable package init(_ value: consuming Value) {
    unsafe address = .allocate(capacity: 1)
    unsafe address.initialize(to: value)
  }

  deinit {
    unsafe address.deinitialize(count: 1)
    unsafe address.deallocate()
  }

  @inlinable package var value: Value {
    @inline(__always) _read { yield unsafe address.pointee }
    @inline(__always) nonmutating _modify { yield unsafe &address.pointee }
  }
}

extension Cell where Value: ~Copyable {
  /// Does not retain the cell's owner, which would be the main cost of a loop over many cells.
  @usableFromInline @safe package struct Reference {
    @usableFromInline let address: UnsafeMutablePointer<Value>

    @usableFromInline @unsafe init(_ address: UnsafeMutablePointer<Value>) {
      unsafe self.address = unsafe address
    }

    @inlinable package var value: Value {
      @inline(__always) _read { yield unsafe address.pointee }
      @inline(__always) nonmutating _modify { yield unsafe &address.pointee }
    }
  }

  /// The reference must not outlive the cell.
  @unsafe package var reference: Reference { unsafe Reference(address) }
}
