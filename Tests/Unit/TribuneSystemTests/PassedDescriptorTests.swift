// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@Suite("Passed descriptors", .timeLimit(.minutes(15)))
struct PassedDescriptorTests {
  @Test("A file goes with the first byte of its frame, and is close-on-exec")
  func withItsFrame() throws {
    let ends = try UnixSocket.makePair()
    let file = try MemoryFile(holding: [1, 2, 3].raw)
    let frame = ByteBuffer(capacity: 8, attachment: file)
    frame.append([10, 11, 12].raw)
    let rest = ByteBuffer(holding: [13, 14])
    let gather = GatherList(capacity: 2)
    gather.append(0..<3, of: frame)
    gather.append(0..<2, of: rest)
    #expect(try gather.send(to: ends.one) == 5)
    // A send after the first byte passes no file.
    gather.append(1..<3, of: frame)
    #expect(try gather.send(to: ends.one) == 2)

    var passed = PassedDescriptors()
    let received = ByteBuffer(capacity: 1)
    let result = try UnixSocket.receive(from: ends.other, into: received, &passed)
    #expect(result == .bytes(1))
    let count = passed.count
    #expect(count == 1)
    guard case .descriptor(let descriptor)? = passed.popFirst() else {
      Issue.record("no descriptor came")
      return
    }
    #expect(fcntl(descriptor.rawValue, F_GETFD) & FD_CLOEXEC != 0)
    let taken = try MemoryFile(checking: descriptor, length: 3)
    let copy = ByteBuffer(capacity: 0)
    try MemoryFile.append(taken, to: copy)
    #expect(copy.array == [1, 2, 3])

    received.reserve(100)
    while try !UnixSocket.isDrained(ends.one) {
      _ = try UnixSocket.receive(from: ends.other, into: received, &passed)
    }
    #expect(received.array == [10, 11, 12, 13, 14, 11, 12])
    let isEmpty = passed.isEmpty
    #expect(isEmpty)
  }

  @Test("Descriptors are taken in the order of their sending")
  func order() throws {
    let ends = try UnixSocket.makePair()
    for length in 1...20 {
      try send(MemoryFile(holding: [UInt8](repeating: 0, count: length).raw), to: ends.one)
    }
    var passed = PassedDescriptors()
    let received = ByteBuffer(capacity: 100)
    while try !UnixSocket.isDrained(ends.one) {
      _ = try UnixSocket.receive(from: ends.other, into: received, &passed)
    }
    let count = passed.count
    #expect(count == 20)
    var length = 0
    while case .descriptor(let descriptor)? = passed.popFirst() {
      length += 1
      _ = try MemoryFile(checking: descriptor, length: length)
    }
    #expect(length == 20)
  }

  @Test("Descriptors without a taker are closed")
  func closed() throws {
    let ends = try UnixSocket.makePair()
    var pipeEnds: [CInt] = [-1, -1]
    _ = try retrying { unsafe pipe(&pipeEnds) }
    let readEnd = FileDescriptor(owning: pipeEnds[0])
    let passedEnd = PassedEnd(FileDescriptor(owning: pipeEnds[1]))
    try send(passedEnd, to: ends.one)
    do {
      var passed = PassedDescriptors()
      let received = ByteBuffer(capacity: 8)
      let result = try UnixSocket.receive(from: ends.other, into: received, &passed)
      #expect(result == .bytes(1))
      let count = passed.count
      #expect(count == 1)
    }
    try send(passedEnd, to: ends.one)
    #expect(try UnixSocket.receive(from: ends.other, into: ByteBuffer(capacity: 8)) == .descriptors)
    passedEnd.close()
    var byte: UInt8 = 0
    #expect(unsafe read(readEnd.rawValue, &byte, 1) == 0)
  }

  private func send(_ file: any AttachedFile, to socket: borrowing FileDescriptor) throws {
    let frame = ByteBuffer(capacity: 8, attachment: file)
    frame.append([0].raw)
    let gather = GatherList(capacity: 1)
    gather.append(0..<1, of: frame)
    #expect(try gather.send(to: socket) == 1)
  }
}

private final class PassedEnd: AttachedFile {
  let length = 1
  let rawDescriptor: CInt

  init(_ descriptor: consuming FileDescriptor) { rawDescriptor = descriptor.release() }

  func close() { FileDescriptor(owning: rawDescriptor).close() }
}
