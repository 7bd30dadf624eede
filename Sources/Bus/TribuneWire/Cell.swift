// SPDX-License-Identifier: Apache-2.0

/// A variable of a class without the run-time check for exclusive access.
///
/// An access to a class property is checked at run time if the compiler cannot prove it exclusive. That takes about 80
/// instructions, and took a third of the daemon's work for a post and a quarter for a query. A cell omits this check
/// for data that every message uses. All other rules hold: the value is initialised as long as the cell exists, and
/// only its owner's isolation accesses it.
///
/// Instead, the owner must guarantee exclusivity: no code that a mutating method of the value calls may access the same
/// cell. Therefore, few properties are cells.
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
  /// Access to the value without a reference to the cell's owner. Counting references would touch the owner, which
  /// costs more than anything else in a loop over many cells.
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

  /// The reference must not be used after the cell is gone.
  @unsafe package var reference: Reference { unsafe Reference(address) }
}
