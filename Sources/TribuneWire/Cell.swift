// SPDX-License-Identifier: Apache-2.0

/// A variable of a class that is reached without the check for exclusive access.
///
/// Each access to a property of a class that the compiler cannot see through is checked at run time, some 80
/// instructions: a third of all that the daemon did for a post, and a quarter of what it did for a query. For what
/// every message goes through, this leaves the check out, and nothing else: the value is initialised as long as
/// there is a cell, and only the isolation of its owner reaches it.
///
/// What holds instead is for the owner to see to, and the reason why few properties are cells: nothing that a
/// mutating method of the value calls comes back to the same cell.
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
  /// A way to the value that keeps nothing alive: what counts references has to touch the object that owns the cell,
  /// which costs more than anything else that is done for one of many in turn.
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

  /// Must be forgotten before the cell is.
  @unsafe package var reference: Reference { unsafe Reference(address) }
}
