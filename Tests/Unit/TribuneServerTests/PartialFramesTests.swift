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
  private let accounts: Accounts
  private let partials: PartialFrames

  init() {
    var configuration = Configuration()
    configuration.partialFramesMemoryMaxBytes = 1 << 20
    accounts = Accounts(privileged: [0])
    _ = Bus(configuration, accounts)
    partials = PartialFrames(accounts)
  }

  private func session(_ number: UInt64, of user: UInt32) throws -> Session {
    Session(
      id: ConnectionID(rawValue: number), slot: ConnectionSlot(index: Int(number)),
      descriptor: try UnixSocket.make(nonblocking: true), cookie: number,
      peer: PeerIdentity(pid: 1, uid: user, gid: user, process: "", units: PeerUnits()),
      subject: Subject(user: user), user: User(accounts.account(of: user)),
      connected: Instant(nanoseconds: 0),
      limits: .fromBus)
  }

  private static func start(ofFrame length: Int) -> ByteBuffer {
    let buffer = ByteBuffer(capacity: FrameHeader.length)
    FrameHeader(kind: .post, serial: 0, nameLength: 1, payloadLength: length - FrameHeader.length - 1).append(
      to: buffer)
    return buffer
  }

  private func keep(_ length: Int, of session: Session) -> WireError? {
    do throws(WireError) {
      try partials.keep(Self.start(ofFrame: length), from: 0, of: session)
      return nil
    } catch {
      return error
    }
  }

  @Test("is shared: a user who begins frames and ends none does not keep others from sending")
  func shares() throws {
    var greedy: [Session] = []
    var refusal: WireError?
    while refusal == nil {
      let session = try session(UInt64(greedy.count + 1), of: 60_001)
      refusal = keep(100_000, of: session)
      if refusal == nil { greedy.append(session) }
    }
    #expect(greedy.count == 4)
    #expect(refusal?.code == .outOfMemory)
    #expect(
      refusal?.message
        == "user 60001 has 400000 and wants 100000 more, and its share is 491520 of 1048576 bytes of partial frames "
        + "(PartialFramesMemoryMax=); user 60001 has most, 400000")
    #expect(keep(100_000, of: try session(50, of: 60_002)) == nil)
    #expect(keep(300_000, of: try session(51, of: 0)) == nil)
    partials.release(greedy[0])
    #expect(partials.reservedByteCount == 700_000)
  }

  @Test("is not used by short frames")
  func short() throws {
    #expect(keep(16_384, of: try session(1, of: 60_001)) == nil)
    #expect(partials.reservedByteCount == 0)
  }
}
