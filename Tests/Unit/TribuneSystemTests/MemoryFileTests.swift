// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import Testing
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@Suite("Files in memory", .timeLimit(.minutes(15)))
struct MemoryFileTests {
  static let seals = [TRIBUNE_F_SEAL_SEAL, TRIBUNE_F_SEAL_SHRINK, TRIBUNE_F_SEAL_GROW, TRIBUNE_F_SEAL_WRITE]

  @Test("The contents of a file can be read and mapped", arguments: [1, 4095, 4096, 65_536, 1_048_583])
  func contents(length: Int) throws {
    let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let file = try MemoryFile(holding: bytes.raw)
    #expect(file.length == length)
    let copy = ByteBuffer(capacity: 0)
    copy.append([1, 2].raw)
    try MemoryFile.append(file, to: copy)
    #expect(copy.array == [1, 2] + bytes)
    let mapped = try MappedBytes(file)
    #expect(mapped.count == length)
    let isEqual = mapped.bytes.isEqual(to: bytes.raw)
    #expect(isEqual)
  }

  @Test("A mapping stays when its file is closed")
  func mappedAlone() throws {
    func map() throws -> MappedBytes {
      let file = try MemoryFile(holding: [1, 2, 3].raw)
      return try MappedBytes(file)
    }
    let mapped = try map()
    #expect([UInt8](mapped.bytes) == [1, 2, 3])
  }

  @Test("A file cannot be changed once it is made, and is close-on-exec")
  func sealed() throws {
    let file = try MemoryFile(holding: [1, 2, 3].raw)
    let descriptor = file.rawDescriptor
    #expect(unsafe pwrite(descriptor, [9], 1, 0) == -1 && errno == EPERM)
    #expect(ftruncate(descriptor, 1) == -1 && errno == EPERM)
    #expect(ftruncate(descriptor, 9) == -1 && errno == EPERM)
    #expect(fcntl(descriptor, TRIBUNE_F_ADD_SEALS, 0) == -1 && errno == EPERM)
    #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
    let taken = try MemoryFile(checking: FileDescriptor(owning: dup(descriptor)), length: 3)
    #expect(taken.length == 3)
  }

  @Test("A file that lacks one of the seals is refused", arguments: seals)
  func unsealed(missing: CInt) throws {
    let file = try memoryFile(length: 10, seals: Self.seals.filter { $0 != missing }.reduce(0, |))
    #expect(Self.flaw(of: file, length: 10) == .notSealed)
  }

  @Test(
    "A file of another length than announced is refused", arguments: [(0, 10), (9, 10), (11, 10), (10, 0)])
  func otherLength(length: Int, said: Int) throws {
    let file = try memoryFile(length: length)
    #expect(Self.flaw(of: file, length: said) == .hasLength(length))
  }

  @Test("A file without any write is read as zeros")
  func sparse() throws {
    let made = try memoryFile(length: 70_000)
    let file = try MemoryFile(checking: made, length: 70_000)
    let copy = ByteBuffer(capacity: 0)
    try MemoryFile.append(file, to: copy)
    #expect(copy.array == [UInt8](repeating: 0, count: 70_000))
  }

  @Test("A write-only file is refused")
  func writeOnly() throws {
    let file = try memoryFile(length: 10)
    let path = "/proc/self/fd/\(file.rawValue)"
    let other = FileDescriptor(owning: try retrying { unsafe open(path, O_WRONLY | O_CLOEXEC) })
    #expect(Self.flaw(of: other, length: 10) == .notReadable)
  }

  @Test(
    "A file that is not in memory is refused",
    arguments: ["/dev/null", "/dev/zero", "/proc/self/exe", "/tmp"])
  func noMemory(path: String) throws {
    let file = FileDescriptor(owning: try retrying { unsafe open(path, O_RDONLY | O_CLOEXEC) })
    // A file of tmpfs can have only some of the seals.
    #expect(Self.flaw(of: file, length: 0) != nil)
  }

  private static func flaw(of file: consuming FileDescriptor, length: Int) -> MemoryFile.Flaw? {
    let taken = Result { [descriptor = file.release()] () throws(MemoryFile.Flaw) in
      try MemoryFile(checking: FileDescriptor(owning: descriptor), length: length)
    }
    guard case .failure(let flaw) = taken else { return nil }
    return flaw
  }
}

func memoryFile(length: Int, seals: CInt = MemoryFileTests.seals.reduce(0, |)) throws -> FileDescriptor {
  let flags = CUnsignedInt(MFD_CLOEXEC) | CUnsignedInt(MFD_ALLOW_SEALING)
  let file = FileDescriptor(owning: try retrying { unsafe memfd_create("test", flags) })
  let descriptor = file.rawValue
  _ = try retrying { ftruncate(descriptor, off_t(length)) }
  if seals != 0 { _ = try retrying { fcntl(descriptor, TRIBUNE_F_ADD_SEALS, seals) } }
  return file
}
