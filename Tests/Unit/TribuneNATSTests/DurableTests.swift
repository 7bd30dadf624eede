// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tribune

@testable import TribuneNATS

@Suite("Durable notifications between hosts", .timeLimit(.minutes(15)))
struct DurableTests {
  private let stream: DurableStream = {
    var settings = NATSSettings(hostName: "db1")
    settings.cluster = "shop"
    return DurableStream(settings, Subjects(cluster: "shop", host: "db1"))
  }()

  @Test("A stream, its subjects, and a host's consumer have names of the cluster and the host")
  func names() {
    #expect(stream.name == "tribune-durable_shop")
    #expect(stream.subjects == "tribune.v1.shop.durable.*.>")
    #expect(stream.consumer == "db1" && stream.deliverSubject == "tribune.v1.shop.deliver.db1")
  }

  @Test(
    "An acknowledgement's subject has the delivery's numbers, in both forms of servers",
    arguments: [
      "$JS.ACK.tribune-durable_shop.db1.2.4711.99.1764216000000000000.0",
      "$JS.ACK._.Xy12.tribune-durable_shop.db1.2.4711.99.1764216000000000000.0",
      "$JS.ACK.hub.Xy12.tribune-durable_shop.db1.2.4711.99.1764216000000000000.0.r4nd",
    ])
  func acknowledgements(subject: String) throws {
    let found = try #require(AckSubject(subject))
    #expect(found.stream == stream.name && found.consumer == "db1" && found.sequence == 4_711)
  }

  @Test(
    "Any other subject is refused",
    arguments: [
      "", "$JS.ACK", "$JS.ACK.", "$JS.ACK.s.c.1.2.3.4", "$JS.ACK.s.c.1.2.3.4.5.6", "$JS.ACK.s.c.1.0.3.4.5",
      "$JS.ACK.s.c.1.x.3.4.5", "$JS.ACK.s.c.1..3.4.5", "$JS.ACK.s.c.1.-2.3.4.5",
      "$JS.ACK.s.c.1.99999999999999999999.3.4.5", "$JS.ACK.s.c.1.18446744073709551615.3.4.5",
      "$JS.API.s.c.1.2.3.4.5", "x.$JS.ACK.s.c.1.2.3.4.5",
      "$JS.ACK.d.a.s.c.1.2.3.4.5.6.7",
    ])
  func noAcknowledgements(subject: String) { #expect(AckSubject(subject) == nil) }

  @Test("A store token is recognized by its own process, for its own purpose")
  func storeTokens() {
    let durable = StoreTokens(.durable)
    #expect(durable.number(of: durable.token(1)) == 1 && durable.number(of: durable.token(.max)) == .max)
    #expect(Subjects.isToken(durable.token(.max)))
    for other in [StoreTokens(.durable), StoreTokens(.retained)] {
      #expect(durable.number(of: other.token(1)) == nil)
    }
    for token in ["", "d1", "1", "\(durable.token(1))x", String(durable.token(1).dropLast())] {
      #expect(durable.number(of: token) == nil)
    }
  }

  @Test(
    "JetStream's reply to a store is understood",
    arguments: [
      ("{\"stream\":\"s\",\"seq\":1}", .stored),
      ("{\"stream\":\"s\",\"seq\":7,\"duplicate\":true,\"domain\":\"hub\"}", .stored),
      (
        "{\"error\":{\"code\":503,\"err_code\":10077,\"description\":\"maximum bytes exceeded\"},\"seq\":0}",
        .refused(code: 10_077, why: "maximum bytes exceeded")
      ),
      ("{\"error\":{}}", .refused(code: 0, why: "no reason")),
      ("{\"error\":\"x\"}", .refused(code: 0, why: "no reason")),
      (
        "{\"error\":{\"err_code\":1,\"description\":\"a\\u001bb\"}}",
        .refused(code: 1, why: "a\\u{1b}b")
      ),
    ] as [(String, StoreReply)])
  func replies(text: String, reply: StoreReply) throws {
    #expect(try StoreReply(Array(text.utf8)) == reply)
  }

  @Test(
    "A reply with neither a number nor a reason is an error",
    arguments: ["", "x", "[]", "{}", "{\"seq\":0}", "{\"seq\":\"1\"}", "{\"stream\":\"s\"}"])
  func noReplies(text: String) {
    #expect(throws: EnvelopeError.self) { try StoreReply(Array(text.utf8)) }
  }

  @Test("Repetitions are recognized, even of earlier instances, and a gap is counted")
  func account() {
    var account = DurableAccount()
    let instances = (0..<DurableAccount.instancesMax).map { _ in Instance() }
    #expect(account.record(5, from: "db2", instances[0]) == .new(lost: 0))
    #expect(account.record(6, from: "db2", instances[0]) == .new(lost: 0))
    #expect(account.record(9, from: "db2", instances[0]) == .new(lost: 2))
    for instance in instances.dropFirst() {
      #expect(account.record(1, from: "db2", instance) == .newAfterGap)
      #expect(account.record(1, from: "db3", instance) != .stale)
    }
    for (index, instance) in instances.enumerated() {
      for number: UInt64 in [1, index == 0 ? 9 : 1] {
        #expect(account.record(number, from: "db2", instance) == .stale)
      }
    }
    #expect(account.record(1, from: "db2", Instance()) == .newAfterGap)
    #expect(account.record(9, from: "db2", instances[0]) == .newAfterGap)
  }

  @Test("An account of very many hosts forgets the oldest, says so if one returns, and fits its file")
  func manyHosts() throws {
    var account = DurableAccount()
    let long = String(repeating: "h", count: 60)
    let instance = Instance()
    for index in 0...DurableAccount.hostsMax {
      for _ in 0..<DurableAccount.instancesMax {
        _ = account.record(.max, from: "\(long)\(index)", Instance())
      }
      _ = account.record(1, from: "\(long)\(index)", instance)
    }
    account = try #require(DurableAccount(account.text))
    #expect(account.record(1, from: "\(long)0", instance) == .newAfterGap)
    #expect(account.record(1, from: "\(long)\(DurableAccount.hostsMax)", instance) == .stale)
    #expect(account.text.utf8.count < 64 << 10)
    #expect(DurableAccount(account.text) == account)
  }

  @Test("An account is restored from its file")
  func accountFile() throws {
    var account = DurableAccount()
    #expect(DurableAccount("") == account && account.isEmpty)
    let instance = Instance()
    _ = account.record(7, from: "db2", instance)
    _ = account.record(.max, from: "db3", Instance())
    var found = try #require(DurableAccount(account.text))
    #expect(found == account && !found.isEmpty)
    #expect(found.record(7, from: "db2", instance) == .stale)
    #expect(found.record(8, from: "db2", instance) == .new(lost: 0))
  }

  @Test(
    "A new consumer begins after its host's last message, and at the start of an unknown stream"
  )
  func start() throws {
    var account = DurableAccount()
    #expect(account.start(in: 7) == 1)
    account.position = DurableAccount.Position(created: 7, sequence: 4_711)
    _ = account.record(1, from: "db2", Instance())
    let found = try #require(DurableAccount(account.text))
    #expect(found == account && found.start(in: 7) == 4_712 && found.start(in: 8) == 1)
    let lines = account.text.split(separator: "\n").dropFirst()
    #expect(try #require(DurableAccount(lines.joined())).start(in: 7) == 1)
    let fresh = try #require(DurableAccount("7 0\n"))
    #expect(!fresh.isEmpty && fresh.start(in: 7) == 1)
  }

  @Test("An unreadable account counts as missing", arguments: ["", "x", "\n"])
  func unreadable(text: String) throws {
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    #expect(DurableAccount.load(from: file.path) == nil)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: file) } }
    try Data(text.utf8).write(to: file)
    #expect(DurableAccount.load(from: file.path) == nil)
    try Data("7 1\n".utf8).write(to: file)
    #expect(DurableAccount.load(from: file.path)?.start(in: 7) == 2)
  }

  @Test(
    "A file of another form has no account",
    arguments: [
      "7\n", "7 -1\n", "7 x\n", "7 1 2\n", "7 1\n8 1\n", "7 18446744073709551615\n",
      "db2 0123456789abcdef0123456789abcdef 1\n7 1\n",
      "x", "db2 0123456789abcdef0123456789abcdef\n", "db2 0123456789abcdef0123456789abcde 1\n",
      "db 2 0123456789abcdef0123456789abcdef 1\n", " 0123456789abcdef0123456789abcdef 1\n",
      "db2 0123456789abcdef0123456789abcdef -1\n", "a.b 0123456789abcdef0123456789abcdef 1\n",
    ])
  func noAccount(text: String) { #expect(DurableAccount(text) == nil) }

  @Test("A post that the bus cannot take for a moment is repeated for some time; a refused one is not")
  func retries() {
    let start = ContinuousClock.now
    for code in [TribuneError.Code.connectionLost, .shuttingDown, .tooSlow, .unreachable] {
      var retries = PostRetries()
      for hour in 0..<3 { #expect(retries.pause(after: code, at: start + .seconds(3_600 * hour)) != nil) }
    }
    for code in [TribuneError.Code.refused, .notConforming, .invalidObject] {
      var retries = PostRetries()
      #expect(retries.pause(after: code, at: start) == nil)
    }
    var retries = PostRetries()
    #expect(retries.pause(after: .connectionLost, at: start - .seconds(60)) != nil)
    for (seconds, isRetried) in [(0, true), (29, true), (30, false)] {
      #expect((retries.pause(after: .limitExceeded, at: start + .seconds(seconds)) != nil) == isRetried)
    }
  }

  @Test("A stream that somebody else created is used if each host can get each message")
  func streams() {
    var properties = DurableStream.Properties(subjects: [stream.subjects])
    #expect(stream.flaw(of: properties) == nil && stream.warning(about: properties) == nil)
    properties.subjects.append("other")
    properties.ageMax = stream.ageMax
    #expect(stream.flaw(of: properties) == nil && stream.warning(about: properties) == nil)
    properties.ageMax = .seconds(60)
    #expect(stream.warning(about: properties)?.contains("60.0 seconds") == true)
    properties.discardsUnread = true
    #expect(stream.warning(about: properties) == "removes unread notifications when it is full")
    #expect(stream.flaw(of: properties) == nil)
    properties.acknowledges = false
    #expect(stream.flaw(of: properties) == "it does not acknowledge what it stores")
    properties.isWorkQueue = true
    #expect(stream.flaw(of: properties)?.hasPrefix("it is a work queue") == true)
    properties.subjects = ["tribune.v1.shop.durable.db1.>"]
    #expect(stream.flaw(of: properties) == "its subjects are not tribune.v1.shop.durable.*.>")
  }
}
