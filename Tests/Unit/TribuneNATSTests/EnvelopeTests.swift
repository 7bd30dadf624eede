// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune
import TribuneTestSupport

@testable import TribuneNATS

@Suite("Headers of messages", .timeLimit(.minutes(15)))
struct EnvelopeTests {
  private static let instance = Instance()

  @Test(
    "Text is restored from a header",
    arguments: ["", "a", "repo/main", " a b ", "100 %", "Übung\u{1F600}", "%41"])
  func text(text: String) {
    let value = ByteEscape.header.escape(text)
    #expect(value.utf8.allSatisfy { (0x21...0x7E).contains($0) })
    #expect(ByteEscape.header.unescape(value, lengthMax: 255) == text)
  }

  @Test(
    "Text that was not encoded so is refused",
    arguments: ["%", "%4", "%zz", "%4a", "a b", "a\u{7F}", "é", "%FF"])
  func noText(value: String) { #expect(ByteEscape.header.unescape(value, lengthMax: 255) == nil) }

  @Test("A duration is read in each form")
  func length() {
    #expect(ByteEscape.header.unescape("aaaa", lengthMax: 4) == "aaaa")
    #expect(ByteEscape.header.unescape("aaaaa", lengthMax: 4) == nil)
    #expect(ByteEscape.header.unescape("%20%20%20%20", lengthMax: 4) == "    ")
    #expect(ByteEscape.header.unescape("%20%20%20%20%20", lengthMax: 4) == nil)
  }

  @Test("A notification is restored from its headers", arguments: ["", "repo/main", "ein Objekt %"])
  func post(object: String) throws {
    let envelope = PostEnvelope(
      instance: Self.instance, number: ExportNumber(sequence: 17, count: 3), object: object,
      peer: RemotePeer(pid: 1))
    #expect(try PostEnvelope(ClusterMessage("s", headers: envelope.headers)) == envelope)
  }

  @Test("A process is restored from its header")
  func peer() {
    let peers = [
      RemotePeer(), RemotePeer(pid: 42, uid: 0, process: "a,b=c d", units: Units(system: "a@1,2.service")),
      RemotePeer(uid: .max, units: Units(system: "user@1.service", user: "é.service")),
    ]
    for peer in peers { #expect(RemotePeer(headerText: peer.headerText) == peer) }
  }

  @Test("Only valid parts of another host's process are used")
  func invalidPeer() {
    #expect(RemotePeer(headerText: "pid=x,,uid=,=1,process=%,uid=7,else=1") == RemotePeer(uid: 7))
    let long = "pid=1,process=" + String(repeating: "a", count: 256)
    #expect(RemotePeer(headerText: long) == RemotePeer(pid: 1))
    #expect(RemotePeer(headerText: "pid=1," + String(repeating: ",", count: 4_000)) == RemotePeer())
  }

  @Test("A question is restored from its headers", arguments: [true, false], [true, false])
  func ask(wantsValue: Bool, isDryRun: Bool) throws {
    let envelope = AskEnvelope(
      instance: Self.instance, query: .max, object: "o", wantsValue: wantsValue, isDryRun: isDryRun,
      timeout: .milliseconds(1_500), rosterMark: "3-a")
    #expect(try AskEnvelope(ClusterMessage("s", headers: envelope.headers)) == envelope)
  }

  @Test(
    "A reply is restored from its headers",
    arguments: [
      .approve, .veto("a restore is running"), .veto(""), .abstain, .failed("no bus"), .value,
      .progress(timeout: .seconds(60), status: "flushing: 3 of 4"),
    ] as [ReplyEnvelope])
  func reply(reply: ReplyEnvelope) throws {
    #expect(try ReplyEnvelope(ClusterMessage("s", headers: reply.headers)) == reply)
  }

  @Test("A reason is cut before it is sent, between characters")
  func longReason() throws {
    let reply = ReplyEnvelope.veto(String(repeating: "ü", count: 5_000))
    guard case .veto(let reason) = try ReplyEnvelope(ClusterMessage("s", headers: reply.headers)) else {
      Issue.record("no veto")
      return
    }
    #expect(reason.utf8.count <= 4_096 && reason.allSatisfy { $0 == "ü" })
  }

  @Test("Another host's timeout is limited to an hour")
  func longTime() throws {
    let message = ClusterMessage("s", headers: [.kind: "progress", .timeout: "18446744073709551615"])
    #expect(try ReplyEnvelope(message) == .progress(timeout: .seconds(3_600), status: ""))
  }

  private static let spoiled: [(ClusterMessage.Header, String?)] = [
    (.instance, nil), (.instance, ""), (.instance, "0123456789ABCDEF0123456789ABCDEF"), (.instance, "0"),
    (.object, "%0A"), (.object, String(repeating: "a", count: 256)), (.object, "%C0%80"), (.number, nil),
    (.number, "1"), (.number, "1/0"), (.number, "1/2"), (.number, "-1/1"), (.number, "1/1/1"), (.number, "/"),
    (.number, "99999999999999999999/1"), (.number, "+1/1"),
  ]

  @Test("A notification with an invalid header is refused", arguments: spoiled)
  func spoiledPost(header: ClusterMessage.Header, value: String?) {
    var headers = PostEnvelope(
      instance: Self.instance, number: ExportNumber(sequence: 2, count: 1), object: "o"
    ).headers
    headers[header] = value
    #expect(throws: EnvelopeError.self) { try PostEnvelope(ClusterMessage("s", headers: headers)) }
  }

  @Test(
    "A question with an invalid header is refused",
    arguments: [
      (.instance, "x"), (.query, nil), (.query, "-1"), (.query, "x"), (.kind, nil), (.kind, "Value"),
      (.timeout, nil), (.timeout, "0"), (.timeout, "1s"), (.object, "a b"),
    ] as [(ClusterMessage.Header, String?)])
  func spoiledAsk(header: ClusterMessage.Header, value: String?) {
    var headers = AskEnvelope(
      instance: Self.instance, query: 1, object: "o", wantsValue: false, isDryRun: false, timeout: .seconds(1)
    ).headers
    headers[header] = value
    #expect(throws: EnvelopeError.self) { try AskEnvelope(ClusterMessage("s", headers: headers)) }
  }

  @Test(
    "A reply of an unknown kind is refused, so it is never an approval",
    arguments: [
      [:], [.kind: ""], [.kind: "Approve"], [.kind: "approve "], [.kind: "allowed"], [.kind: "progress"],
      [.kind: "approve", .reason: "a b"],
    ] as [[ClusterMessage.Header: String]])
  func spoiledReply(headers: [ClusterMessage.Header: String]) {
    #expect(throws: EnvelopeError.self) { try ReplyEnvelope(ClusterMessage("s", headers: headers)) }
  }

  @Test("Random headers are refused or understood")
  func random() {
    var generator = SplitMix64(seed: 19)
    for _ in 0..<5_000 {
      var headers: [ClusterMessage.Header: String] = [:]
      for header in ClusterMessage.Header.allCases where generator.oneIn(2) {
        let bytes = generator.bytes(countMax: 40).map { $0 % 96 + 32 }
        headers[header] = String(decoding: bytes, as: UTF8.self)
      }
      let message = ClusterMessage("s", headers: headers)
      #expect(throws: EnvelopeError.self) { try PostEnvelope(message) }
      #expect(throws: EnvelopeError.self) { try AskEnvelope(message) }
      #expect(throws: EnvelopeError.self) { try ReplyEnvelope(message) }
    }
  }
}
