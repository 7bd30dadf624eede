// SPDX-License-Identifier: Apache-2.0

/// A growing list that moves all its elements out in order (`drain`).
///
/// Each index of an `Array` must hold an element, so code that takes an element out must copy or replace the
/// element. Such copies and replacements took a tenth of the daemon's CPU time for a query.
@safe @usableFromInline package struct Batch<Element>: ~Copyable {
  /// `drain` frees the batch's memory if `capacity` exceeds this number.
  @usableFromInline static var keptMax: Int { 1024 }

  /// Memory for `capacity` elements. The first `count` are initialised. nil if `capacity` is 0.
  @usableFromInline var elements: UnsafeMutablePointer<Element>?
  @usableFromInline var capacity = 0
  @usableFromInline var count = 0

  @inlinable package init() { unsafe elements = nil }

  @inlinable deinit {
    guard let elements = unsafe elements else { return }
    unsafe elements.deinitialize(count: count)
    unsafe elements.deallocate()
  }

  @inlinable package var isEmpty: Bool { count == 0 }

  @inlinable package mutating func append(_ element: consuming Element) {
    if count == capacity { grow() }
    guard let elements = unsafe elements else { preconditionFailure("a batch that has grown has memory") }
    unsafe (elements + count).initialize(to: element)
    count += 1
  }

  /// Passes each element to `body`, in order. `body` must not use the batch.
  @inlinable package mutating func drain(_ body: (consuming Element) -> Void) {
    guard let elements = unsafe elements else { return }
    let drained = count
    count = 0
    for index in 0..<drained { unsafe body((elements + index).move()) }
    if capacity > Self.keptMax {
      unsafe elements.deallocate()
      unsafe self.elements = nil
      capacity = 0
    }
  }

  @usableFromInline mutating func grow() {
    let grown = max(4, capacity * 2)
    let moved = UnsafeMutablePointer<Element>.allocate(capacity: grown)
    if let elements = unsafe elements {
      unsafe moved.moveInitialize(from: elements, count: count)
      unsafe elements.deallocate()
    }
    unsafe elements = moved
    capacity = grown
  }
}
