// SPDX-License-Identifier: Apache-2.0

/// Bytes that several queues can share: what a read brought in, or what was encoded to go out.
///
/// A buffer only grows at its end, and only its owner appends. Everyone else holds a `ByteSlice`: an
/// offset and a length, never a pointer, so that the storage may move when it grows. While a slice
/// exists, the bytes under it stay what they are, but for the one field of a frame that the bus
/// stamps before it hands the slice out.
///
/// What changes lies behind a pointer rather than in properties: each access to a property of a class is
/// checked for exclusivity at run time, which was a third of all that the daemon did for a query. The
/// checks that matter here, of each offset against `count`, are made by hand.
///
/// This file is where the wire touches raw memory.
@safe @usableFromInline package final class ByteBuffer {
  @usableFromInline
  @unsafe struct State {
    /// The first byte of the storage. Valid for `capacity` bytes, initialised up to `count`.
    @usableFromInline var base: UnsafeMutableRawPointer
    @usableFromInline var capacity: Int
    @usableFromInline var count = 0
    @usableFromInline var attachment: (any AttachedFile)?

    init(base: UnsafeMutableRawPointer, capacity: Int, attachment: (any AttachedFile)? = nil) {
      unsafe self.base = base
      unsafe self.capacity = capacity
      unsafe self.attachment = attachment
    }
  }

  @usableFromInline let state: UnsafeMutablePointer<State>
  /// What belongs to the one frame that the buffer then holds, from its first byte on.
  @inlinable package var attachment: (any AttachedFile)? { unsafe state.pointee.attachment }

  package init(capacity: Int, attachment: (any AttachedFile)? = nil) {
    precondition(capacity >= 0)
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(
      to: State(
        base: .allocate(byteCount: capacity, alignment: 16), capacity: capacity, attachment: attachment))
  }

  /// Makes a buffer of memory that somebody else has allocated, and that is its own from now on.
  ///
  /// - Parameter base: valid for `capacity` bytes, aligned to 16 bytes, and to be freed by `deallocate()`.
  @unsafe package init(adopting base: UnsafeMutableRawPointer, capacity: Int) {
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(to: State(base: base, capacity: capacity))
  }

  deinit {
    unsafe state.pointee.base.deallocate()
    unsafe state.deinitialize(count: 1)
    unsafe state.deallocate()
  }

  /// Attaches what belongs to the next frame, to a buffer that has no attachment and no bytes.
  package func attach(_ file: any AttachedFile) {
    precondition(attachment == nil && count == 0, "the buffer holds another frame")
    unsafe state.pointee.attachment = file
  }

  /// Takes the attachment off, when nobody needs the bytes any more that it belongs to.
  package func removeAttachment() -> (any AttachedFile)? {
    var removed: (any AttachedFile)?
    unsafe swap(&removed, &state.pointee.attachment)
    return removed
  }

  /// Bytes that fit before the storage has to grow.
  @inlinable @inline(__always) package var capacity: Int { unsafe state.pointee.capacity }

  /// Bytes that have been written.
  @inlinable @inline(__always) package var count: Int { unsafe state.pointee.count }

  /// The bytes that have been written. Must not be held on to while something is appended: the storage may
  /// move then.
  @inlinable package var bytes: RawSpan {
    @_lifetime(borrow self)
    @inline(__always) get {
      let span = unsafe RawSpan(_unsafeStart: UnsafeRawPointer(state.pointee.base), byteCount: count)
      return unsafe _overrideLifetime(span, borrowing: self)
    }
  }

  /// The written bytes in `range`, which must lie below `count`.
  @_lifetime(borrow self)
  @inlinable @inline(__always) package func bytes(in range: Range<Int>) -> RawSpan {
    bytes.extracting(range)
  }

  /// Makes room for `additional` bytes behind those that were written.
  @inlinable @inline(__always) package func reserve(_ additional: Int) {
    if capacity - count < additional { unsafe grow(by: additional).deallocate() }
  }

  /// Moves to longer storage.
  ///
  /// - Returns: the storage that was left, which the caller frees.
  @usableFromInline
  func grow(by additional: Int) -> UnsafeMutableRawPointer {
    let grown = max(count + additional, capacity * 2)
    let moved = UnsafeMutableRawPointer.allocate(byteCount: grown, alignment: 16)
    let outgrown = unsafe state.pointee.base
    unsafe moved.copyMemory(from: outgrown, byteCount: count)
    unsafe state.pointee.base = moved
    unsafe state.pointee.capacity = grown
    return unsafe outgrown
  }

  @inlinable @inline(__always) package func append<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) {
    reserve(MemoryLayout<T>.size)
    unsafe state.pointee.base.storeBytes(of: value.littleEndian, toByteOffset: count, as: T.self)
    unsafe state.pointee.count += MemoryLayout<T>.size
  }

  /// Appends `source`, which may be bytes of this same buffer.
  package func append(_ source: RawSpan) {
    guard source.byteCount > 0 else { return }
    let isFull = capacity - count < source.byteCount
    let outgrown = unsafe isFull ? grow(by: source.byteCount) : nil
    unsafe source.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      unsafe (state.pointee.base + count).copyMemory(from: start, byteCount: bytes.count)
    }
    unsafe state.pointee.count += source.byteCount
    unsafe outgrown?.deallocate()
  }

  /// Appends `source`, which is no part of this buffer, if there is room for it.
  ///
  /// - Returns: whether there was.
  @inlinable package func append(ifItFits source: RawSpan) -> Bool {
    guard capacity - count >= source.byteCount else { return false }
    unsafe source.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      unsafe (state.pointee.base + state.pointee.count).copyMemory(from: start, byteCount: bytes.count)
    }
    unsafe state.pointee.count += source.byteCount
    return true
  }

  /// Overwrites the integer at `offset`; all of it must have been written before.
  @inlinable @inline(__always) package func store<T: FixedWidthInteger & BitwiseCopyable>(
    _ value: T, at offset: Int
  ) {
    precondition(offset >= 0 && offset <= count - MemoryLayout<T>.size)
    unsafe state.pointee.base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
  }

  /// Takes back everything from `newCount` on. No slice may reach past it.
  package func truncate(to newCount: Int) {
    precondition(newCount >= 0 && newCount <= count)
    unsafe state.pointee.count = newCount
  }

  /// Lets `fill` write into the free space at the end and counts what it says it wrote.
  ///
  /// - Parameter fill: is handed the free space, and returns how many bytes of it are now written.
  package func appendFilling<E: Error>(
    _ fill: (UnsafeMutableRawBufferPointer) throws(E) -> Int
  ) throws(E) {
    let free = unsafe UnsafeMutableRawBufferPointer(
      start: state.pointee.base + count, count: capacity - count)
    let written = unsafe try fill(free)
    precondition(written >= 0 && written <= free.count)
    unsafe state.pointee.count += written
  }

  /// The address of `range`, for a system call made while nothing appends.
  @inlinable @inline(__always) package func withAddress<R, E: Error>(
    of range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    let start = unsafe state.pointee.base + range.lowerBound
    return unsafe try body(UnsafeRawBufferPointer(start: start, count: range.count))
  }
}

/// A part of a buffer that keeps the buffer alive.
@usableFromInline package struct ByteSlice {
  @usableFromInline package let buffer: ByteBuffer
  @usableFromInline package var range: Range<Int>

  @inlinable package init(_ buffer: ByteBuffer, _ range: Range<Int>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= buffer.count)
    self.buffer = buffer
    self.range = range
  }

  @inlinable package var count: Int { range.upperBound - range.lowerBound }

  /// Bytes that wait with the slice: its own, and those of what is attached to it.
  @inlinable package var weight: Int { count + (buffer.attachment?.length ?? 0) }

  @inlinable package var bytes: RawSpan {
    @_lifetime(borrow self)
    get { buffer.bytes(in: range) }
  }

  /// The same bytes in a buffer of their own, with what is attached to them, for what has to wait for long.
  package func copied() -> ByteSlice {
    let own = ByteBuffer(capacity: count, attachment: buffer.attachment)
    own.append(bytes)
    return ByteSlice(own, 0..<count)
  }
}

extension RawSpan {
  /// The little-endian integer at `offset`. Traps when it is not whole inside the span.
  @inlinable @inline(__always)
  package func integer<T: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: T.Type) -> T {
    T(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: type))
  }

  /// Whether both hold the same bytes.
  package func isEqual(to other: RawSpan) -> Bool {
    let count = byteCount
    guard count == other.byteCount else { return false }
    var offset = 0
    while offset + 8 <= count {
      if integer(at: offset, as: UInt64.self) != other.integer(at: offset, as: UInt64.self) { return false }
      offset += 8
    }
    while offset < count {
      if integer(at: offset, as: UInt8.self) != other.integer(at: offset, as: UInt8.self) { return false }
      offset += 1
    }
    return true
  }
}

extension String {
  /// The text in `bytes`, with what is not UTF-8 replaced.
  package init(repairing bytes: RawSpan) {
    self = unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
  }
}

extension String {
  /// The text's UTF-8 where it lies.
  package var utf8Bytes: RawSpan {
    @_lifetime(borrow self)
    get { unsafe utf8Span.span.bytes }
  }
}

extension Array where Element == UInt8 {
  package init(_ bytes: RawSpan) {
    self = unsafe bytes.withUnsafeBytes { unsafe Array($0) }
  }

  /// The bytes where they lie.
  package var rawBytes: RawSpan {
    @_lifetime(borrow self)
    get { unsafe span.bytes }
  }
}
