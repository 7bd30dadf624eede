// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneVarlink
import TribuneWire

@Suite("Replies")
struct FrameReplyTests {
  private static let peer = PeerIdentity(
    pid: 1, uid: 2, gid: 3, process: "backup", units: PeerUnits(system: ""))

  private func reply<F: FrameFields>(
    to fields: F, serial: Serial, isInCall: Bool = true, text: String = ""
  ) throws -> FrameReply {
    let buffer = ByteBuffer(capacity: 256)
    buffer.appendFrame(fields, serial: serial, name: "a", text: text)
    let header = try #require(try FrameHeader(buffer.bytes, at: 0, limits: .fromBus))
    return try FrameReply(
      FrameView(header, buffer.bytes),
      in: FrameReply.Context(
        connection: .bus, secret: 1, isInCall: isInCall, now: 1_000_000_000, peer: { _ in nil }))
  }

  @Test("a call of several frames is ready when the last one is")
  func several() throws {
    #expect(try reply(to: Okay(), serial: CallID(.observe, index: 0, of: 2).serial).message == nil)
    let last = try reply(to: Okay(), serial: CallID(.observe, index: 1, of: 2).serial)
    #expect(last.message?.contains("ready") == true && !last.isLast)
  }

  @Test("a refusal without a reply does not affect the call that is under way")
  func oneway() throws {
    let refused = try reply(to: Refusal(.invalidName), serial: CallID(.tell, isOneway: true).serial)
    #expect(refused.message == nil && !refused.isLast)
  }

  @Test("a query's progress is sent only to a client that takes several replies", arguments: [true, false])
  func progress(_ takesMore: Bool) throws {
    let delegate = DelegateIdentity(id: DelegateID(rawValue: 1), label: "backup", peer: Self.peer)
    let progress = Progress(query: QueryID(rawValue: 1), delegate: delegate, timeout: 1)
    let reply = try reply(to: progress, serial: CallID(.ask, takesMore: takesMore).serial)
    #expect((reply.message != nil) == takesMore && !reply.isLast)
  }

  @Test("a verdict has a similar name if there is one", arguments: ["", "host.shouldReboot"])
  func similarName(_ name: String) throws {
    let verdict = Verdict(
      query: QueryID(rawValue: 1), verdict: .allowed, isUnanswered: true, outcomes: [], similarName: name)
    let message = try #require(try reply(to: verdict, serial: CallID(.ask).serial).message)
    #expect(message.contains(#""similarName":"\#(name)""#) == !name.isEmpty)
    #expect(message.contains("similarName") == !name.isEmpty)
  }

  @Test("frames after a call's last reply are not sent")
  func late() throws {
    for isInCall in [true, false] {
      let post = try reply(to: Post(), serial: 0, isInCall: isInCall)
      let lost = try reply(to: Lost(count: 1), serial: 0, isInCall: isInCall)
      let end = try reply(to: Refusal(.shuttingDown), serial: 0, isInCall: isInCall, text: "stops")
      #expect((post.message != nil) == isInCall && (lost.message != nil) == isInCall)
      #expect((end.message != nil) == isInCall)
    }
  }
}
