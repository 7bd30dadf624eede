// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@Suite("Shared files in memory, written to through mappings", .timeLimit(.minutes(15)))
struct SharedFileTests {
  @Test("A store into one mapping appears in the others, and in the file")
  func shared() throws {
    let file = try SharedFile(length: 65_536)
    let one = try SharedMapping(file)
    let taken = try SharedFile(checking: FileDescriptor(owning: dup(file.rawDescriptor)))
    #expect(taken.length == 65_536)
    let other = try SharedMapping(taken)
    one.store([1, 2, 3].raw, at: 65_533)
    one.store(0x0807_0605_0403_0201, at: 8)
    one.publish(.max, at: 16)
    let rows = unsafe one.rows(at: 64, count: 2)
    rows[1, 7] = 5
    rows.publish(6, row: 0, word: 0)
    #expect(Array(other.bytes(in: 65_530..<65_536)) == [0, 0, 0, 1, 2, 3])
    #expect(other.load(at: 8) == 0x0807_0605_0403_0201)
    #expect(Array(other.bytes(in: 8..<24)) == [1, 2, 3, 4, 5, 6, 7, 8] + [UInt8](repeating: 255, count: 8))
    #expect(unsafe other.rows(at: 64, count: 2)[1, 7] == 5)
    #expect(other.load(at: 64) == 6)
    #expect(other.load(at: 64 + 64 + 56) == 5)
    let descriptor = FileDescriptor(owning: dup(file.rawDescriptor))
    #expect(SharedFile.start(of: descriptor, length: 12) == [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4])
  }

  @Test("Bytes can be copied within a mapping, even to where they overlap")
  func within() throws {
    let mapping = try mapped()
    mapping.store([1, 2, 3, 4, 5].raw, at: 10)
    mapping.store(mapping.bytes(in: 10..<15), at: 100)
    mapping.store(mapping.bytes(in: 10..<15), at: 12)
    #expect(Array(mapping.bytes(in: 100..<105)) == [1, 2, 3, 4, 5])
    #expect(Array(mapping.bytes(in: 10..<17)) == [1, 2, 1, 2, 3, 4, 5])
  }

  @Test("A mapping is left out of core dumps")
  func dumped() throws {
    let mapping = try SharedMapping(SharedFile(length: 7 << 20))
    // Each mapping's lines end with its flags.
    let maps = try #require(FileHandle(forReadingAtPath: "/proc/self/smaps"))
    let text = try #require(try maps.readToEnd())
    let parts = String(decoding: text, as: UTF8.self).components(separatedBy: "VmFlags:")
    let index = try #require(
      parts.firstIndex { $0.contains("/memfd:tribune-shared") && $0.contains(" 7168 kB") })
    #expect(parts[index + 1].prefix { $0 != "\n" }.split(separator: " ").contains("dd"))
    #expect(mapping.load(at: 0) == 0)
  }

  @Test("The length of a file cannot be changed")
  func sealed() throws {
    let file = try SharedFile(length: 10_000)
    #expect(ftruncate(file.rawDescriptor, 9_999) == -1 && errno == EPERM)
    #expect(ftruncate(file.rawDescriptor, 10_001) == -1 && errno == EPERM)
    #expect(fcntl(file.rawDescriptor, TRIBUNE_F_ADD_SEALS, 0) == -1 && errno == EPERM)
    #expect(fcntl(file.rawDescriptor, F_GETFD) & FD_CLOEXEC != 0)
  }

  @Test("A discarded range reads as zeros and takes no memory, and the rest stays")
  func discarded() throws {
    let page = sysconf(CInt(_SC_PAGESIZE))
    let file = try SharedFile(length: 4 * page)
    let mapping = try SharedMapping(file)
    for offset in stride(from: 0, to: 4 * page, by: 8) { mapping.store(UInt64(offset) + 1, at: offset) }
    let isDiscarded = file.discard(page..<3 * page)
    #expect(isDiscarded)
    var status = stat()
    _ = try retrying { unsafe fstat(file.rawDescriptor, &status) }
    #expect(Int(status.st_blocks) * 512 == 2 * page)
    #expect(file.data(from: 0) == 0..<page)
    #expect(file.data(from: 8) == 8..<page)
    #expect(file.data(from: page) == 3 * page..<4 * page)
    #expect(file.data(from: 4 * page) == nil)
    for offset in stride(from: 0, to: 4 * page, by: 8) {
      try #require(mapping.load(at: offset) == (page..<3 * page ~= offset ? 0 : UInt64(offset) + 1))
    }
  }

  @Test(
    "A file that lacks one of the seals is refused",
    arguments: [TRIBUNE_F_SEAL_SEAL, TRIBUNE_F_SEAL_SHRINK, TRIBUNE_F_SEAL_GROW])
  func unsealed(missing: CInt) throws {
    let all = TRIBUNE_F_SEAL_SEAL | TRIBUNE_F_SEAL_SHRINK | TRIBUNE_F_SEAL_GROW
    #expect(Self.flaw(of: try memoryFile(length: 4096, seals: all & ~missing)) == .notSealed)
    #expect(Self.flaw(of: try memoryFile(length: 4096, seals: all)) == nil)
  }

  @Test("A read-only file is refused, and so is one that is not in memory")
  func others() throws {
    let file = try SharedFile(length: 4096)
    let path = "/proc/self/fd/\(file.rawDescriptor)"
    let reader = FileDescriptor(owning: try retrying { unsafe open(path, O_RDONLY | O_CLOEXEC) })
    #expect(Self.flaw(of: reader) == .notWritable)
    for path in ["/dev/null", "/dev/zero", "/proc/self/exe"] {
      let start = SharedFile.start(
        of: FileDescriptor(owning: try retrying { unsafe open(path, O_RDONLY | O_CLOEXEC) }), length: 8)
      #expect(start == nil)
      let other = FileDescriptor(owning: try retrying { unsafe open(path, O_RDONLY | O_CLOEXEC) })
      #expect(Self.flaw(of: other) == .notInMemory)
    }
  }

  @Test("An access out of bounds stops the process")
  func bounds() async {
    await #expect(processExitsWith: .failure) { try touch { _ = $0.load(at: 4096) } }
    await #expect(processExitsWith: .failure) { try touch { _ = $0.load(at: -8) } }
    await #expect(processExitsWith: .failure) { try touch { $0.store(1, at: 4089) } }
    await #expect(processExitsWith: .failure) { try touch { $0.publish(1, at: 4) } }
    await #expect(processExitsWith: .failure) { try touch { $0.store([1, 2].raw, at: 4095) } }
    await #expect(processExitsWith: .failure) { try touch { $0.store([1].raw, at: -1) } }
    await #expect(processExitsWith: .failure) { try touch { _ = $0.bytes(in: 4096..<4097).byteCount } }
    await #expect(processExitsWith: .failure) { try touch { _ = unsafe $0.rows(at: 64, count: 64) } }
    await #expect(processExitsWith: .failure) { try touch { unsafe $0.rows(at: 0, count: 2)[2, 0] = 1 } }
    await #expect(processExitsWith: .failure) { try touch { unsafe $0.rows(at: 0, count: 2)[0, 8] = 1 } }
    await #expect(processExitsWith: .success) {
      try touch {
        _ = $0.load(at: 4088)
        $0.store([1].raw, at: 4095)
        _ = $0.bytes(in: 4096..<4096).byteCount
        unsafe $0.rows(at: 64, count: 63)[62, 7] = 1
      }
    }
  }

  private static func flaw(of file: consuming FileDescriptor) -> MemoryFile.Flaw? {
    do throws(MemoryFile.Flaw) {
      _ = try SharedFile(checking: file)
      return nil
    } catch {
      return error
    }
  }
}

private func mapped() throws -> SharedMapping {
  let file = try SharedFile(length: 4096)
  return try SharedMapping(file)
}

private func touch(_ body: (borrowing SharedMapping) -> Void) throws {
  let mapping = try mapped()
  body(mapping)
}
