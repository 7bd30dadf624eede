// SPDX-License-Identifier: Apache-2.0

/// Bytes that several queues can share: input from a read, or encoded output.
///
/// Only the buffer's owner appends bytes, and only at the end. All other code holds a `ByteSlice`. A slice
/// has a range of offsets instead of a pointer, so the buffer can move its storage. The bytes of a shared
/// slice must not change, so the bus writes a frame's sender before it shares a slice of the frame.
///
/// The state is behind a pointer, because the exclusivity checks of class properties took a third of the
/// daemon's CPU time for a query. Each method checks the offsets that it gets against `count`.
@safe @usableFromInline package final class ByteBuffer {
  @usableFromInline
  @unsafe struct State {
    /// Points to `capacity` bytes. The first `count` bytes are initialised.
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
  /// The file of the frame in this buffer; nil if no frame has a file. A buffer with a file contains only that
  /// frame, from offset 0.
  @inlinable package var attachment: (any AttachedFile)? { unsafe state.pointee.attachment }

  package init(capacity: Int, attachment: (any AttachedFile)? = nil) {
    precondition(capacity >= 0)
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(
      to: State(
        base: .allocate(byteCount: capacity, alignment: 16), capacity: capacity, attachment: attachment))
  }

  package convenience init(holding source: RawSpan, attachment: (any AttachedFile)? = nil) {
    self.init(capacity: source.byteCount, attachment: attachment)
    append(source)
  }

  /// - Parameter base: memory of `capacity` bytes, aligned to 16 bytes. The buffer takes ownership of this
  ///   memory, and frees it with `deallocate()`.
  @unsafe package init(adopting base: UnsafeMutableRawPointer, capacity: Int) {
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(to: State(base: base, capacity: capacity))
  }

  deinit {
    unsafe state.pointee.base.deallocate()
    unsafe state.deinitialize(count: 1)
    unsafe state.deallocate()
  }

  package func attach(_ file: any AttachedFile) {
    precondition(attachment == nil && count == 0, "the buffer holds another frame")
    unsafe state.pointee.attachment = file
  }

  /// The frame in the buffer needs the file, so the caller must not use this frame afterwards.
  package func removeAttachment() -> (any AttachedFile)? {
    var removed: (any AttachedFile)?
    unsafe swap(&removed, &state.pointee.attachment)
    return removed
  }

  @inlinable @inline(__always) package var capacity: Int { unsafe state.pointee.capacity }

  @inlinable @inline(__always) package var count: Int { unsafe state.pointee.count }

  /// The caller must not hold the span across an append, because an append can move the storage.
  @inlinable package var bytes: RawSpan {
    @_lifetime(borrow self)
    @inline(__always) get {
      let span = unsafe RawSpan(_unsafeStart: UnsafeRawPointer(state.pointee.base), byteCount: count)
      return unsafe _overrideLifetime(span, borrowing: self)
    }
  }

  @_lifetime(borrow self)
  @inlinable @inline(__always) package func bytes(in range: Range<Int>) -> RawSpan { bytes.extracting(range) }

  @inlinable @inline(__always) package func reserve(_ additional: Int) {
    if capacity - count < additional { unsafe grow(by: additional).deallocate() }
  }

  /// Returns the old storage, which the caller must free.
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

  /// `source` can be part of this buffer, because the old storage is freed after the copy.
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

  /// Does not grow the buffer. Returns false, and changes nothing, if `source` does not fit. `source` must not
  /// be part of this buffer.
  @inlinable package func append(ifItFits source: RawSpan) -> Bool {
    guard capacity - count >= source.byteCount else { return false }
    unsafe source.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      unsafe (state.pointee.base + state.pointee.count).copyMemory(from: start, byteCount: bytes.count)
    }
    unsafe state.pointee.count += source.byteCount
    return true
  }

  /// Appends `count` uninitialised bytes. The caller must store values in all of them before the first read.
  func skip(_ count: Int) {
    reserve(count)
    unsafe state.pointee.count += count
  }

  /// Overwrites bytes that were appended or skipped before.
  @inlinable @inline(__always) package func store<T: FixedWidthInteger & BitwiseCopyable>(
    _ value: T, at offset: Int
  ) {
    precondition(offset >= 0 && offset <= count - MemoryLayout<T>.size)
    unsafe state.pointee.base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
  }

  /// No slice in use must extend beyond `newCount`, because later appends overwrite the bytes there.
  package func truncate(to newCount: Int) {
    precondition(newCount >= 0 && newCount <= count)
    unsafe state.pointee.count = newCount
  }

  /// - Parameter fill: writes into the free capacity, and returns the number of bytes written.
  package func appendFilling<E: Error>(_ fill: (UnsafeMutableRawBufferPointer) throws(E) -> Int) throws(E) {
    let free = unsafe UnsafeMutableRawBufferPointer(
      start: state.pointee.base + count, count: capacity - count)
    let written = unsafe try fill(free)
    precondition(written >= 0 && written <= free.count)
    unsafe state.pointee.count += written
  }

  /// Passes the address of the bytes in `range` to `body`, which must not append to the buffer.
  @inlinable @inline(__always) package func withAddress<R, E: Error>(
    of range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    let start = unsafe state.pointee.base + range.lowerBound
    return unsafe try body(UnsafeRawBufferPointer(start: start, count: range.count))
  }
}

/// A range of bytes in a buffer.
@usableFromInline package struct ByteSlice {
  @usableFromInline package let buffer: ByteBuffer
  @usableFromInline package var range: Range<Int>

  @inlinable package init(_ buffer: ByteBuffer, _ range: Range<Int>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= buffer.count)
    self.buffer = buffer
    self.range = range
  }

  @inlinable package var count: Int { range.upperBound - range.lowerBound }

  @inlinable package var weight: Int { count + (buffer.attachment?.length ?? 0) }

  @inlinable package var bytes: RawSpan {
    @_lifetime(borrow self)
    get { buffer.bytes(in: range) }
  }

  /// Returns a slice of a new buffer with a copy of the bytes, and with the same attachment. Copy a slice
  /// that is kept for long: the original would keep its whole buffer in memory.
  package func copied() -> ByteSlice {
    ByteSlice(ByteBuffer(holding: bytes, attachment: buffer.attachment), 0..<count)
  }
}

extension RawSpan {
  /// Reads a little-endian integer. Traps if one of the integer's bytes is outside the span.
  @inlinable @inline(__always)
  package func integer<T: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: T.Type) -> T {
    T(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: type))
  }

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
  /// Decodes UTF-8, and replaces invalid sequences with U+FFFD.
  package init(repairing bytes: RawSpan) {
    self = unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
  }
}

extension String {
  package var utf8Bytes: RawSpan {
    @_lifetime(borrow self)
    get { unsafe utf8Span.span.bytes }
  }
}

extension Array {
  /// Removes all elements, and keeps the capacity. For one or two elements, this method is five times as fast
  /// as `removeAll(keepingCapacity:)`.
  @inlinable package mutating func removeOneByOne() {
    while popLast() != nil {}
  }
}

extension Array where Element == UInt8 {
  package init(_ bytes: RawSpan) {
    self = unsafe bytes.withUnsafeBytes { unsafe Array($0) }
  }

  package var rawBytes: RawSpan {
    @_lifetime(borrow self)
    get { unsafe span.bytes }
  }
}
