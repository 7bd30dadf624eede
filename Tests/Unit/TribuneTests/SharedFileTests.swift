// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import Synchronization
import Testing
import TribuneSystem
import TribuneWire

@testable import Tribune

@Suite(.timeLimit(.minutes(15)))
struct SharedFileTests {
  private static let floor = WireLimits.descriptorPayloadLength
  private static let long = [UInt8](repeating: 0x61, count: floor)

  @Test(arguments: [false, true])
  func longUserInfoIsSentInAFileToABusThatTakesFiles(acknowledged: Bool) async throws {
    let received = try await conversation(capabilities: .descriptors) { peer in
      let frame = try peer.next(.post)
      #expect(frame.header.flags == (acknowledged ? [.acknowledge, .descriptor] : .descriptor))
      #expect(frame.header.payloadLength == 0 && frame.name == "a.b" && frame.object == "o")
      let file = try peer.takeFile(length: Int(try frame.decode(Post.self).length))
      if acknowledged { try peer.send(Okay(), serial: frame.serial) }
      let copy = ByteBuffer(capacity: 0)
      try MemoryFile.append(file, to: copy)
      return [UInt8](copy.bytes)
    } client: { connection in
      let userInfo = UserInfo(Self.long)
      if acknowledged {
        try await connection.postAcknowledged("a.b", object: "o", userInfo: userInfo)
      } else {
        try await connection.post("a.b", object: "o", userInfo: userInfo)
      }
    }
    #expect(received == Self.long)
  }

  @Test(arguments: [(floor - 1, true), (floor, false)])
  func otherUserInfoIsSentInTheFrame(length: Int, acceptsFiles: Bool) async throws {
    try await conversation(capabilities: acceptsFiles ? .descriptors : []) { peer in
      let frame = try peer.next(.post)
      #expect(frame.header.payloadLength == length && frame.header.fieldsLength == 0)
      #expect(frame.header.flags == [] && !peer.hasDescriptors)
    } client: { connection in
      try await connection.post("a.b", userInfo: UserInfo([UInt8](repeating: 0, count: length)))
    }
  }

  @Test func framesKeepTheirOrderAndTheirFiles() async throws {
    try await conversation(payloadMax: 1 << 30, capabilities: .descriptors) { peer in
      for number in 0..<300 {
        let frame = try peer.next(.post)
        #expect(frame.object == "\(number)")
        guard number % 3 == 0 else { continue }
        let length = Self.floor + number
        #expect(try frame.decode(Post.self).length == length)
        _ = try peer.takeFile(length: length)
      }
      try peer.readToEnd()
      #expect(!peer.hasDescriptors)
    } client: { connection in
      for number in 0..<300 {
        let userInfo = number % 3 == 0 ? [UInt8](repeating: 1, count: Self.floor + number) : []
        try await connection.post("a.b", object: "\(number)", userInfo: UserInfo(userInfo))
      }
    }
  }

  @Test func filesForABusThatDoesNotReadAreBounded() async throws {
    let posted = Atomic(0)
    try await conversation(payloadMax: 1 << 30, capabilities: .descriptors) { peer in
      for number in 0..<40 {
        let frame = try peer.next(.post)
        #expect(frame.object == "\(number)")
        _ = try peer.takeFile(length: 4 << 20)
        // 64 MiB in the socket, the queued frames, and the frame being posted.
        let count = posted.load(ordering: .sequentiallyConsistent)
        #expect(count <= number + 1 + 16 + 3)
      }
    } client: { connection in
      let userInfo = UserInfo([UInt8](repeating: 1, count: 4 << 20))
      for number in 0..<40 {
        try await connection.post("a.b", object: "\(number)", userInfo: userInfo)
        posted.add(1, ordering: .sequentiallyConsistent)
      }
    }
  }

  @Test func userInfoInAFileReadsLikeAnyOther() async throws {
    try await conversation(capabilities: .descriptors) { peer in
      try peer.confirmObservation()
      try peer.send(try Self.post(length: Self.floor, file: try MemoryFile(holding: Self.long.rawBytes)))
    } client: { connection in
      var iterator = try await connection.observe("a.*").makeAsyncIterator()
      guard case .notification(let notification)? = try await iterator.next() else {
        Issue.record("no notification came")
        return
      }
      var userInfo = notification.userInfo
      #expect(userInfo == UserInfo(Self.long))
      #expect(userInfo.text == String(repeating: "a", count: Self.floor))
      #expect(!userInfo.isEmpty && userInfo.count == Self.floor)
      userInfo.bytes.append(1)
      #expect(userInfo.count == Self.floor + 1)
      #expect(notification.userInfo.bytes == Self.long)
      await connection.close()
      #expect(notification.userInfo.withBytes { $0.isEqual(to: Self.long.rawBytes) })
    }
  }

  enum Cheat: CaseIterable {
    case unsealed, cut, long, short, device, missing, surplus, otherFrame
  }

  @Test(arguments: Cheat.allCases)
  func aBusThatCheatsEndsTheConnection(cheat: Cheat) async throws {
    try await conversation(capabilities: .descriptors) { peer in
      try peer.confirmObservation()
      let sealed = try MemoryFile(holding: Self.long.rawBytes)
      let frame: ByteBuffer
      switch cheat {
      case .unsealed: frame = try Self.post(length: Self.floor, file: PassedFile.unsealed(Self.floor))
      case .cut: frame = try Self.post(length: Self.floor, file: PassedFile.unsealed(0))
      case .long: frame = try Self.post(length: Self.floor + 1, file: sealed)
      case .short:
        frame = try Self.post(length: 10, file: try MemoryFile(holding: Array(Self.long[..<10]).rawBytes))
      case .device: frame = try Self.post(length: Self.floor, file: PassedFile.device())
      case .missing: frame = try Self.post(length: Self.floor, file: nil)
      case .surplus:
        frame = ByteBuffer(capacity: 64, attachment: sealed)
        frame.appendFrame(Post(), serial: 1, name: "a.b")
      case .otherFrame:
        frame = ByteBuffer(capacity: 64, attachment: sealed)
        frame.appendFrame(Okay(), flags: .descriptor, serial: 1000)
      }
      try peer.send(frame)
    } client: { connection in
      let notifications = try await connection.observe("a.*")
      #expect(await connection.closed()?.code == .protocolViolation)
      withExtendedLifetime(notifications) {}
    }
  }

  private static func post(length: Int, file: (any AttachedFile)?) throws -> ByteBuffer {
    let frame = ByteBuffer(capacity: 64, attachment: file)
    frame.appendFrame(Post(length: UInt32(length)), flags: .descriptor, serial: 1, name: "a.b")
    return frame
  }
}

private final class PassedFile: AttachedFile {
  let length = 0
  private let descriptor: FileDescriptor
  var rawDescriptor: CInt { descriptor.rawValue }

  private init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  static func unsealed(_ length: Int) throws -> PassedFile {
    let file = FileDescriptor(owning: try retrying { unsafe memfd_create("test", CUnsignedInt(MFD_CLOEXEC)) })
    let descriptor = file.rawValue
    _ = try retrying { ftruncate(descriptor, off_t(length)) }
    return PassedFile(file)
  }

  static func device() throws -> PassedFile {
    PassedFile(FileDescriptor(owning: try retrying { unsafe open("/dev/zero", O_RDONLY | O_CLOEXEC) }))
  }
}
