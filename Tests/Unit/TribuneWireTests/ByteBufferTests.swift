// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@Suite("Byte buffers", .timeLimit(.minutes(15)))
struct ByteBufferTests {
  @Test("A buffer has the appended bytes in order, however often it grows", arguments: [0, 1, 7, 4096])
  func growth(capacity: Int) {
    let buffer = ByteBuffer(capacity: capacity)
    var expected: [UInt8] = []
    for number in 0..<1000 {
      buffer.append(UInt32(number))
      buffer.append(UInt8(truncatingIfNeeded: number))
      for shift in [0, 8, 16, 24] { expected.append(UInt8(truncatingIfNeeded: number >> shift)) }
      expected.append(UInt8(truncatingIfNeeded: number))
      #expect(buffer.count == expected.count && buffer.capacity >= buffer.count)
    }
    #expect(buffer.array == expected)
  }

  @Test("A slice has the same bytes after the storage has moved, and keeps the buffer alive")
  func slicesSurviveGrowth() {
    var buffer: ByteBuffer? = ByteBuffer(holding: Array("archive.didPrune".utf8))
    var slices: [ByteSlice] = []
    if let buffer {
      for start in 0..<buffer.count { slices.append(ByteSlice(buffer, start..<buffer.count)) }
      buffer.reserve(1 << 20)
      buffer.append(UInt64.max)
    }
    buffer = nil
    for (start, slice) in slices.enumerated() {
      #expect(slice.count == 16 - start)
      #expect(Array(slice.bytes) == Array("archive.didPrune".utf8.dropFirst(start)))
    }
  }

  @Test("A slice shows later stores into its bytes")
  func storing() {
    let buffer = ByteBuffer(holding: Array(repeating: 0, count: 12))
    let slice = ByteSlice(buffer, 2..<8)
    buffer.store(UInt32(0x0403_0201), at: 3)
    buffer.store(UInt8(0xFF), at: 11)
    #expect(Array(slice.bytes) == [0, 1, 2, 3, 4, 0])
    #expect(buffer.array == [0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0xFF])
    #expect(buffer.count == 12)
  }

  @Test("Truncating removes bytes, and later bytes use their capacity")
  func truncating() {
    let buffer = ByteBuffer(holding: [1, 2, 3, 4])
    let capacity = buffer.capacity
    buffer.truncate(to: 4)
    buffer.truncate(to: 1)
    buffer.append(UInt8(9))
    #expect(buffer.array == [1, 9])
    #expect(buffer.capacity == capacity)
    buffer.truncate(to: 0)
    #expect(buffer.count == 0 && buffer.array.isEmpty)
  }

  @Test("Reserving grows only a buffer that is too small")
  func reserving() {
    let buffer = ByteBuffer(capacity: 16)
    buffer.reserve(16)
    #expect(buffer.capacity == 16)
    buffer.reserve(0)
    buffer.reserve(-1)
    #expect(buffer.capacity == 16)
    buffer.reserve(17)
    #expect(buffer.capacity >= 17 && buffer.count == 0)
  }

  @Test("Filling appends the bytes that were written, and none if it fails")
  func filling() throws {
    struct Failure: Error {}
    let buffer = ByteBuffer(capacity: 4)
    buffer.append(UInt8(1))
    unsafe buffer.appendFilling { free in
      unsafe free[0] = 2
      unsafe free[1] = 3
      return 2
    }
    #expect(buffer.array == [1, 2, 3])
    var hasFailed = false
    do {
      unsafe try buffer.appendFilling { _ in throw Failure() }
    } catch {
      hasFailed = true
    }
    #expect(hasFailed)
    #expect(buffer.array == [1, 2, 3])
  }

  @Test("A buffer can be appended to itself, whether it has to grow or not", arguments: [8192, 16_384])
  func appendingItself(capacity: Int) {
    let buffer = ByteBuffer(capacity: capacity)
    let bytes = (0..<8192).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 1) }
    buffer.append(bytes.raw)
    buffer.append(buffer.bytes)
    #expect(buffer.array == bytes + bytes)
  }

  @Test("Appending nothing changes nothing")
  func empty() {
    let buffer = ByteBuffer(capacity: 0)
    buffer.append("")
    buffer.append([UInt8]().raw)
    #expect(buffer.count == 0 && buffer.bytes.byteCount == 0)
    #expect(ByteSlice(buffer, 0..<0).bytes.byteCount == 0)
  }

  @Test("Two runs of bytes are equal when each byte is", arguments: 0...20)
  func equality(length: Int) {
    let one = (0..<length).map { UInt8($0) }
    let (same, longer) = (one.raw.isEqual(to: one.raw), one.raw.isEqual(to: (one + [0]).raw))
    #expect(same && !longer)
    for offset in 0..<length {
      var other = one
      other[offset] ^= 0x80
      let (forward, backward) = (one.raw.isEqual(to: other.raw), other.raw.isEqual(to: one.raw))
      #expect(!forward && !backward)
    }
  }

  @Test("Every access past the end stops the process")
  func readingPastEnd() async {
    await #expect(processExitsWith: .failure) { _ = three().bytes.integer(at: 0, as: UInt32.self) }
    await #expect(processExitsWith: .failure) { _ = three().bytes.integer(at: -1, as: UInt8.self) }
    await #expect(processExitsWith: .failure) { _ = three().bytes(in: 1..<4).byteCount }
    await #expect(processExitsWith: .failure) { _ = ByteSlice(three(), 3..<4) }
    await #expect(processExitsWith: .failure) {
      let buffer = three()
      let slice = ByteSlice(buffer, 0..<3)
      buffer.truncate(to: 2)
      _ = slice.bytes.byteCount
    }
    await #expect(processExitsWith: .failure) { unsafe three().withAddress(of: 2..<4) { _ in } }
  }

  @Test("Storing past the written bytes stops the process")
  func writingPastEnd() async {
    await #expect(processExitsWith: .failure) { three().store(UInt32(0), at: 0) }
    await #expect(processExitsWith: .failure) { three().store(UInt8(0), at: 3) }
    await #expect(processExitsWith: .failure) { three().store(UInt8(0), at: -1) }
    await #expect(processExitsWith: .failure) { three().store(UInt8(0), at: .max) }
    await #expect(processExitsWith: .failure) { three().truncate(to: 4) }
    await #expect(processExitsWith: .failure) {
      unsafe ByteBuffer(capacity: 4).appendFilling { free in free.count + 1 }
    }
    await #expect(processExitsWith: .failure) { unsafe ByteBuffer(capacity: 4).appendFilling { _ in -1 } }
  }
}

private func three() -> ByteBuffer { ByteBuffer(holding: [1, 2, 3]) }

@Suite("The buffer pool", .timeLimit(.minutes(15)))
struct BufferPoolTests {
  private let pool = BufferPool(bufferCapacity: 65_536, keptMax: 16)

  @Test("A buffer from the pool is empty, even if its storage was used before")
  func reuse() {
    for _ in 0..<3 {
      let buffer = pool.take()
      #expect(buffer.count == 0 && buffer.capacity == pool.bufferCapacity)
      buffer.append(UInt64.max)
    }
  }

  @Test("Buffers in use at the same time share nothing")
  func separation() {
    for _ in 0..<2 {
      let buffers = (0..<40).map { _ in pool.take() }
      for (number, buffer) in buffers.enumerated() { buffer.append(UInt64(number)) }
      for (number, buffer) in buffers.enumerated() {
        #expect(buffer.bytes.integer(at: 0, as: UInt64.self) == UInt64(number))
      }
    }
  }

  @Test("The pool does not hand out a kept buffer that is in use, but does so soon afterwards")
  func keeping() {
    let pool = BufferPool(bufferCapacity: 100, keptMax: 3)
    for _ in 0..<3 {
      var buffers = (0..<6).compactMap { _ in pool.takeIfFree() }
      #expect(Set(buffers.map(ObjectIdentifier.init)).count == 3)
      #expect(buffers.count == 3)
      #expect(pool.takeIfFree() == nil)
      let other = pool.take()
      #expect(buffers.allSatisfy { $0 !== other })
      buffers = []
    }
  }

  @Test("A buffer that outgrew the pool does not return to it")
  func outgrown() {
    pool.take().reserve(pool.bufferCapacity + 1)
    #expect(pool.take().capacity == pool.bufferCapacity)
  }

  @Test("A buffer outlives its pool")
  func outliving() {
    var pool: BufferPool? = BufferPool(bufferCapacity: 65_536, keptMax: 16)
    let buffer = pool?.take()
    pool = nil
    buffer?.append(UInt8(7))
    #expect(buffer?.array == [7])
  }
}
