// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribunePolicy
import TribuneSystem
import TribuneWire

@testable import TribuneServer

@MainActor
@Suite("The memory for partial frames")
struct PartialFramesTests {
  private static let memoryMax = 1 << 20

  private static func session(_ number: UInt64, of user: UInt32) throws -> Session {
    Session(
      id: ConnectionID(rawValue: number), slot: ConnectionSlot(index: Int(number)),
      descriptor: try UnixSocket.make(nonblocking: true), cookie: number,
      peer: PeerIdentity(pid: 1, uid: user, gid: user, process: "", units: PeerUnits()),
      subject: Subject(user: user), connected: Instant(nanoseconds: 0), limits: .fromBus)
  }

  /// The start of a frame of so many bytes.
  private static func start(ofFrame length: Int) -> ByteBuffer {
    let buffer = ByteBuffer(capacity: FrameHeader.length)
    FrameHeader(kind: .post, serial: 0, nameLength: 1, payloadLength: length - FrameHeader.length - 1).append(
      to: buffer)
    return buffer
  }

  private static func keep(_ length: Int, of session: Session, in partials: PartialFrames) -> WireError? {
    do throws(WireError) {
      try partials.keep(start(ofFrame: length), from: 0, of: session, memoryMax: memoryMax)
      return nil
    } catch {
      return error
    }
  }

  @Test("is shared: who begins frames and ends none keeps no other user from sending")
  func shares() throws {
    let partials = PartialFrames()
    var greedy: [Session] = []
    var refusal: WireError?
    while refusal == nil {
      let session = try Self.session(UInt64(greedy.count + 1), of: 60_001)
      refusal = Self.keep(100_000, of: session, in: partials)
      if refusal == nil { greedy.append(session) }
    }
    #expect(greedy.count == 4)
    #expect(refusal?.code == .outOfMemory)
    #expect(
      refusal?.message.hasSuffix("user 60001 has 400000, and its share is 491520") == true,
      "\(refusal as Any)")
    #expect(Self.keep(100_000, of: try Self.session(50, of: 60_002), in: partials) == nil)
    #expect(Self.keep(300_000, of: try Self.session(51, of: ThisProcess.effectiveUser), in: partials) == nil)
    partials.release(greedy[0])
    #expect(partials.reservedByteCount == 700_000)
  }

  @Test("is not taken by short frames")
  func short() throws {
    let partials = PartialFrames()
    #expect(Self.keep(16_384, of: try Self.session(1, of: 60_001), in: partials) == nil)
    #expect(partials.reservedByteCount == 0)
  }
}
