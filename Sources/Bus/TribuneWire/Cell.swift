// SPDX-License-Identifier: Apache-2.0

/// Storage for a variable of a class, without Swift's run-time check for exclusive access. This check took a
/// third of the daemon's CPU time for a post, and a quarter of its CPU time for a query.
///
/// The cell's owner must guarantee exclusive access instead. While a mutating method of the value runs, code
/// that this method calls must not access the cell. Only code in the owner's isolation may access the cell.
/// Debug builds and the simulation check for exclusive access.
@safe @usableFromInline package struct Cell<Value: ~Copyable>: ~Copyable {
  @usableFromInline let address: UnsafeMutablePointer<CellStorage<Value>>

  @inlinable package init(_ value: consuming Value) {
    unsafe address = .allocate(capacity: 1)
    unsafe address.initialize(to: CellStorage(value))
  }

  deinit {
    unsafe address.deinitialize(count: 1)
    unsafe address.deallocate()
  }

  /// Does not forward to `Reference.value`, because nested coroutine accessors allocate memory.
  @inlinable package var value: Value {
    @inline(__always) _read {
      unsafe address.pointee.beginReading()
      defer { unsafe address.pointee.endReading() }
      yield unsafe address.pointee.value
    }
    @inline(__always) nonmutating _modify {
      unsafe address.pointee.beginChanging()
      defer { unsafe address.pointee.endChanging() }
      yield unsafe &address.pointee.value
    }
  }
}

@usableFromInline struct CellStorage<Value: ~Copyable>: ~Copyable {
  @usableFromInline var value: Value
  #if DEBUG
    /// The number of reads in progress, or -1 while an access changes the value.
    @usableFromInline var accessCount = 0
  #endif

  @inlinable init(_ value: consuming Value) { self.value = value }

  @inlinable @inline(__always) mutating func beginReading() {
    #if DEBUG
      precondition(accessCount >= 0, "a cell is read while it changes")
      accessCount += 1
    #endif
  }

  @inlinable @inline(__always) mutating func endReading() {
    #if DEBUG
      accessCount -= 1
    #endif
  }

  @inlinable @inline(__always) mutating func beginChanging() {
    #if DEBUG
      precondition(accessCount == 0, "a cell changes while it is accessed")
      accessCount = -1
    #endif
  }

  @inlinable @inline(__always) mutating func endChanging() {
    #if DEBUG
      accessCount = 0
    #endif
  }
}

extension Cell where Value: ~Copyable {
  /// A pointer to the cell's value. An access through this pointer does not retain the cell's owner. In a
  /// loop over many cells, retaining the owners would be the main cost.
  @usableFromInline @safe package struct Reference {
    @usableFromInline let address: UnsafeMutablePointer<CellStorage<Value>>

    @usableFromInline @unsafe init(_ address: UnsafeMutablePointer<CellStorage<Value>>) {
      unsafe self.address = unsafe address
    }

    @inlinable package var value: Value {
      @inline(__always) _read {
        unsafe address.pointee.beginReading()
        defer { unsafe address.pointee.endReading() }
        yield unsafe address.pointee.value
      }
      @inline(__always) nonmutating _modify {
        unsafe address.pointee.beginChanging()
        defer { unsafe address.pointee.endChanging() }
        yield unsafe &address.pointee.value
      }
    }
  }

  /// The reference must not outlive the cell.
  @unsafe package var reference: Reference { unsafe Reference(address) }
}
