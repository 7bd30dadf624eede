// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneWire

@Suite("Varlink", .timeLimit(.minutes(15)))
struct VarlinkTests {
  private static let ann: UInt32 = 65_534

  private let folder: TestFolder
  private let bus: TestBus
  private let client: VarlinkClient

  init() throws {
    folder = try TestFolder()
    try folder.write(
      "allow post,ask,delegate user.65534.** user:65534\n", to: "etc/policy.d/ann.policy")
    bus = try TestBus.withVarlink(in: folder)
    client = try VarlinkClient(bus)
  }

  @Test("the service describes itself, and every interface that it names")
  func service() throws {
    let info = try client.call("org.varlink.service.GetInfo")
    #expect(info["product"] == "tribuned" && info["version"] == Version.current)
    for interface in ["io.tribune.Bus", "org.varlink.service"] {
      #expect(info["interfaces"].contains(interface))
      let text = try client.call(
        "org.varlink.service.GetInterfaceDescription", "{\"interface\":\"\(interface)\"}")
      #expect(text["description"].contains("\ninterface \(interface)\n"))
    }
  }

  @Test(
    "a mistake in a call is named, and the connection continues",
    arguments: [
      ("a.b.C", "{}", "org.varlink.service.InterfaceNotFound", "interface", "a.b"),
      ("Nothing", "{}", "org.varlink.service.MethodNotFound", "method", "io.tribune.Bus.Nothing"),
      ("Tell", "{}", "org.varlink.service.InvalidParameter", "parameter", "name"),
      ("Tell", "null", "org.varlink.service.InvalidParameter", "parameter", "name"),
      ("Tell", "{\"name\":1}", "org.varlink.service.InvalidParameter", "parameter", "name"),
      ("Tell", "{\"name\":\"a\",\"nam\":1}", "org.varlink.service.InvalidParameter", "parameter", "nam"),
      (
        "Tell", "{\"name\":\"a\",\"userInfo\":1}", "org.varlink.service.InvalidParameter", "parameter",
        "userInfo"
      ),
      ("Tell", "{\"name\":\"a..b\"}", "io.tribune.Bus.Refused", "code", "invalidName"),
      ("Ask", "{\"name\":\"host.reboot\"}", "io.tribune.Bus.Refused", "code", "invalidName"),
      (
        "Ask", "{\"name\":\"shouldA\",\"override\":\" \"}", "io.tribune.Bus.Refused", "code", "invalidValue"
      ),
      (
        "Ask", "{\"name\":\"shouldA\",\"mode\":\"b\"}", "org.varlink.service.InvalidParameter", "parameter",
        "mode"
      ),
      (
        "Answer", "{\"ticket\":\"a\",\"answer\":\"veto\"}", "org.varlink.service.InvalidParameter",
        "parameter", "ticket"
      ),
      (
        "Answer", "{\"ticket\":\"q1.1.1.0\",\"answer\":\"veto\"}", "io.tribune.Bus.Refused", "code",
        "notAsked"
      ),
      ("Hold", "{\"name\":\"a\",\"why\":\"b\"}", "org.varlink.service.ExpectedMore", "", ""),
      (
        "Hold", "{\"name\":\"\",\"why\":\"b\"}", "org.varlink.service.InvalidParameter", "parameter", "name"
      ),
    ])
  func mistakes(_ method: String, _ parameters: String, _ error: String, _ name: String, _ value: String)
    throws
  {
    let reply = try client.call(method, parameters)
    #expect(reply.error == error && reply[name] == value, "\(reply)")
    #expect(try client.call("Tell", "{\"name\":\"a\",\"object\":null}").error == nil)
  }

  @Test(
    "input that is not a call ends the connection, with a reason",
    arguments: [
      "{", "[]", "{}", "{\"method\":1}", "{\"method\":\"a.b\",\"oneway\":true,\"more\":true}",
      "{\"method\":\"a.b\",\"more\":1}", "{\"method\":\"a.b\",\"parameters\":[]}", "{\"method\":\"\u{1}\"}",
      "",
      "{\"method\":\"a\",\"method\":\"b\"}", String(repeating: "[", count: 3000),
    ])
  func noCall(_ message: String) throws {
    try client.send(bytes: Array(message.utf8) + [0])
    let reply = try client.next()
    #expect(reply.error == "io.tribune.Bus.Refused" && reply["code"] == "malformedFrame", "\(reply)")
    #expect(try client.nextIfAny() == nil)
    #expect(try VarlinkClient(bus).call("Tell", "{\"name\":\"a\"}").error == nil)
  }

  @Test("a message of invalid UTF-8 ends the connection, as does one without an end")
  func noText() throws {
    try client.send(bytes: Array("{\"method\":\"".utf8) + [0xFF] + Array("\"}\0".utf8))
    #expect(try client.next()["code"] == "malformedFrame")
    let long = try VarlinkClient(bus)
    try long.send("Tell", "{\"name\":\"\(String(repeating: "x", count: 140_000))\"}")
    #expect(try long.next()["code"] == "frameTooLong")
    let endless = try VarlinkClient(bus)
    do {
      while true { try endless.send(bytes: [UInt8](repeating: 0x20, count: 65_536)) }
    } catch {
    }
    let reply = try endless.next()
    #expect(reply["code"] == "frameTooLong" && reply["message"] == "a message is longer than 131072 bytes")
  }

  @Test("descriptors are refused: a call has none")
  func descriptors() throws {
    _ = try client.call("org.varlink.service.GetInfo")
    do throws(Errno) {
      try client.send(bytes: [0x20], passing: [0])
    } catch {
      // Linux from 6.16 on.
      #expect(error == .notPermitted)
      return
    }
    #expect(try client.next()["code"] == "unexpectedDescriptors")
  }

  @Test("a call may arrive byte by byte, and several in one piece are answered in order")
  func pieces() throws {
    for byte in Array("{\"method\":\"org.varlink.service.GetInfo\"}\0".utf8) {
      try client.send(bytes: [byte])
    }
    #expect(try client.next()["product"] == "tribuned")
    let calls = (0..<100).map { "{\"method\":\"io.tribune.Bus.\($0)\"}\0" }
    try client.send(bytes: Array(calls.joined().utf8))
    for number in 0..<100 { #expect(try client.next()["method"] == "io.tribune.Bus.\(number)") }
  }

  @Test(
    "calls without time left in this iteration are handled later, even if the client then shuts down its side"
  )
  func muchWork() throws {
    let observer = try VarlinkClient(bus)
    #expect(try observer.start("Observe", "{\"patterns\":[\"a\"]}")["kind"] == "ready")
    let values = Array(repeating: "1", count: 3_500).joined(separator: ",")
    let parameters = "{\"name\":\"a\",\"userInfo\":{\"n\":[\(values)]}}"
    let tell = "{\"method\":\"io.tribune.Bus.Tell\",\"parameters\":\(parameters),\"oneway\":true}\0"
    let tells = Array(String(repeating: tell, count: 30).utf8)
    try client.send(bytes: tells)
    #expect(try client.call("org.varlink.service.GetInfo")["product"] == "tribuned")
    try client.send(bytes: tells)
    client.endWriting()
    for _ in 0..<60 { #expect(try observer.next()["name"] == "a") }
  }

  @Test("an upgrade is refused, and a call without a reply gets none, not even an error")
  func flags() throws {
    try client.send("Tell", "{\"name\":\"a\"}", "upgrade")
    #expect(try client.next().error == "org.varlink.service.MethodNotImplemented")
    let observer = try VarlinkClient(bus)
    #expect(try observer.start("Observe", "{\"patterns\":[\"a\"]}")["kind"] == "ready")
    try client.send("Tell", "{\"name\":\"a\"}", "oneway")
    try client.send("Tell", "{\"name\":\"..\"}", "oneway")
    try client.send("Nothing", "{}", "oneway")
    #expect(try client.call("org.varlink.service.GetInfo")["product"] == "tribuned")
    #expect(try observer.next()["name"] == "a")
  }

  @Test("a client that shuts down its side gets the rest of the replies")
  func halfClosed() throws {
    let delegate = try RawClient.greeted(bus)
    try delegate.attach(Attach(patterns: ["a.shouldB"]), serial: 1)
    try client.send("Ask", "{\"name\":\"a.shouldB\"}")
    client.endWriting()
    let question = try delegate.nextQuestion()
    try delegate.answer(question.question, .veto, "no")
    #expect(try client.next()["verdict"] == "vetoed")
    #expect(try client.nextIfAny() == nil)
  }

  @Test("a question without an object meets the holds and delegates of every object, in order")
  func everyObject() throws {
    let other = try RawClient.greeted(bus)
    for order: Int32 in [2, 1] {
      try other.attach(
        Attach(order: order, patterns: ["a.shouldB"]), object: "o/\(order)", serial: UInt64(order))
    }
    try client.send("Ask", "{\"name\":\"a.shouldB\"}")
    let questions = try [other.nextQuestion(), other.nextQuestion()].map(\.question)
    #expect(questions.map(\.delegate.rawValue) == [2, 1])
    try other.answer(questions[1], .veto)
    #expect(try client.next()["verdict"] == "vetoed")
    let holder = try RawClient.greeted(bus)
    try holder.sendConfirmed(Hold(), serial: 3, name: "c.shouldD", object: "o/3", text: "busy")
    #expect(try client.call("Ask", "{\"name\":\"c.shouldD\"}")["verdict"] == "vetoed")
    #expect(
      try client.call("Ask", "{\"name\":\"c.shouldD\",\"object\":\"o/4\"}")["verdict"] == "allowed")
    withExtendedLifetime(holder) {}
  }

  @Test("a notification comes with its poster; userInfo that is not an object comes as text")
  func notifications() throws {
    let observer = try VarlinkClient(bus)
    #expect(try observer.start("Observe", "{\"patterns\":[\"a.*\",\"b\"]}")["kind"] == "ready")
    #expect(
      try client.call("Tell", "{\"name\":\"a.b\",\"object\":\"o\",\"userInfo\":{\"x\":0.1,\"y\":[1,null]}}")
        .text
        == "{\"parameters\":{}}")
    let notification = try observer.next()
    #expect(notification.continues && notification["name"] == "a.b" && notification["object"] == "o")
    #expect(notification.text.contains("\"userInfo\":{\"x\":0.1,\"y\":[1,null]}"))
    #expect(notification["sender"].contains("\"pid\": \(getpid())"))
    let poster = try RawClient.greeted(bus)
    for (text, reply) in [
      ("[1]", "\"text\":\"[1]\""), ("{", "\"text\":\"{\""),
      (" {\"a\":123456789012345678901}", "{\"a\":123456789012345678901}"),
      (String(repeating: "x", count: 131_073), "\"omittedBytes\":131073"),
      (String(repeating: "\u{1}", count: 30_000), "\"omittedBytes\":30000"),
    ] {
      try poster.send(Post(), serial: 0, name: "b", text: text)
      #expect(try observer.next().text.contains(reply))
    }
  }

  @Test(
    "retained notifications come after ready; an awaited one comes with a ticket for its acknowledgement")
  func retainedAndAwaited() throws {
    #expect(
      try client.call("Tell", "{\"name\":\"a.state\",\"userInfo\":{\"n\":1},\"retain\":true}").error == nil)
    let observer = try VarlinkClient(bus)
    let ready = try observer.start(
      "Observe", "{\"patterns\":[\"a.*\"],\"retained\":true,\"awaited\":true}")
    #expect(ready["kind"] == "ready")
    let retained = try observer.next()
    #expect(retained["name"] == "a.state" && !retained["ageUSec"].isEmpty)
    for (answer, outcome) in [("done", ""), ("failed", "failed")] {
      try client.send("Tell", "{\"name\":\"a.willB\",\"awaitSec\":60}")
      let ticket = try observer.next()["ticket"]
      let other = try VarlinkClient(bus)
      let message = "{\"ticket\":\"\(ticket)\",\"answer\":\"\(answer)\",\"reason\":\"full\"}"
      #expect(try other.call("Answer", message).error == nil)
      #expect(try other.call("Answer", message)["code"] == "notAsked")
      #expect(try client.next().first(of: "missing")["outcome"] ?? "" == outcome)
    }
  }

  @Test("a late answer to one notification does not count for the next one")
  func lateAnswer() throws {
    let observer = try VarlinkClient(bus)
    _ = try observer.start("Observe", "{\"patterns\":[\"a\"],\"awaited\":true}")
    try client.send("Tell", "{\"name\":\"a\",\"awaitSec\":0.001}")
    let late = try observer.next()["ticket"]
    #expect(try client.next().first(of: "missing")["outcome"] == "timedOut")
    try client.send("Tell", "{\"name\":\"a\",\"awaitSec\":60}")
    let ticket = try observer.next()["ticket"]
    let other = try VarlinkClient(bus)
    #expect(try other.call("Answer", "{\"ticket\":\"\(late)\",\"answer\":\"done\"}")["code"] == "notAsked")
    #expect(try other.call("Answer", "{\"ticket\":\"\(ticket)\",\"answer\":\"done\"}").error == nil)
    #expect(try client.next().text == "{\"parameters\":{\"missing\":[]}}")
  }

  @Test("retained notifications beyond a queue's limit all arrive")
  func manyRetained() throws {
    let poster = try RawClient.greeted(bus)
    let text = "{\"x\":\"\(String(repeating: "x", count: 20_000))\"}"
    var post = Post()
    post.options.insert(.retain)
    for number in 0..<500 { try poster.send(post, serial: 0, name: "a.n\(number)", text: text) }
    try poster.settle()
    let observer = try VarlinkClient(bus)
    try observer.send("Observe", "{\"patterns\":[\"a.*\"],\"retained\":true}", "more")
    #expect(try observer.next()["kind"] == "ready")
    for _ in 0..<500 { #expect(try observer.next()["kind"] == "notification") }
  }

  @Test("an observer that does not read loses notifications, and learns how many")
  func losses() throws {
    let observer = try VarlinkClient(bus)
    #expect(try observer.start("Observe", "{\"patterns\":[\"a\"]}")["kind"] == "ready")
    let poster = try RawClient.greeted(bus)
    let text = String(repeating: "x", count: 1000)
    for _ in 0..<5_000 { try poster.send(Post(), serial: 0, name: "a", text: text) }
    try poster.settle()
    var (count, lost) = (0, 0)
    while count + lost < 5_000 {
      let reply = try observer.next()
      if reply["kind"] == "lost" { lost += Int(reply["lost"]) ?? 0 } else { count += 1 }
    }
    #expect(count + lost == 5_000 && lost > 0)
  }

  @Test("an observer that reads late has lost nothing if the poster waits for it")
  func patientPoster() throws {
    let bus = try TestBus.withVarlink(configuration: "[Queue]\nLowMark=16K\nHighMark=64K\n")
    let observer = try VarlinkClient(bus)
    #expect(try observer.start("Observe", "{\"patterns\":[\"a\"]}")["kind"] == "ready")
    let (poster, welcome) = try RawClient.welcomed(bus)
    try poster.send(Pace(limit: .max), serial: 0)
    let (stream, other) = (PostStream(poster, name: "a"), try RawClient.greeted(bus))
    while try other.entry(of: welcome.connection)?.isPaused == false { try stream.fill() }
    for _ in 0..<stream.posted { #expect(try observer.next()["kind"] == "notification") }
    try poster.settle()
  }

  @Test("a delegate is asked, takes more time, vetoes on another connection, and learns how the query ended")
  func delegation() throws {
    let delegate = try VarlinkClient(bus)
    let names = "{\"names\":[\"host.*\"],\"label\":\"backup\"}"
    #expect(try delegate.start("Delegate", names)["kind"] == "ready")
    try client.send("Ask", "{\"name\":\"host.shouldReboot\",\"userInfo\":{\"why\":\"x\"}}", "more")
    let question = try delegate.next()
    #expect(question["kind"] == "question" && question.text.contains("\"userInfo\":{\"why\":\"x\"}"))
    #expect(try client.next().first(of: "outcomes")["outcome"] == "asked")
    let ticket = question["ticket"]
    let other = try VarlinkClient(bus)
    let more = "{\"ticket\":\"\(ticket)\",\"extensionSec\":5,\"status\":\"copying\"}"
    #expect(try other.call("Defer", more).error == nil)
    let deferral = try client.next().first(of: "outcomes")
    #expect(deferral["outcome"] == "deferred" && deferral["reason"] == "copying")
    let veto = "{\"ticket\":\"\(ticket)\",\"answer\":\"veto\",\"reason\":\"busy\"}"
    #expect(try other.call("Answer", veto).error == nil)
    #expect(try client.next().continues)
    let verdict = try client.next()
    #expect(!verdict.continues && verdict["verdict"] == "vetoed")
    #expect(
      verdict.first(of: "outcomes")["reason"] == "busy" && verdict.first(of: "outcomes")["label"] == "backup")
    let end = try delegate.next()
    #expect(end["kind"] == "concluded" && end["ticket"] == ticket && end["conclusion"] == "vetoed")
    #expect(try other.call("Answer", veto)["code"] == "notAsked")
  }

  @Test("a delegate that takes more time does not add a reply to a call that takes only one")
  func deferralWithoutMore() throws {
    let delegate = try VarlinkClient(bus)
    _ = try delegate.start("Delegate", "{\"names\":[\"a.shouldB\"]}")
    try client.send("Ask", "{\"name\":\"a.shouldB\"}")
    let ticket = try delegate.next()["ticket"]
    let other = try VarlinkClient(bus)
    #expect(try other.call("Defer", "{\"ticket\":\"\(ticket)\",\"extensionSec\":5}").error == nil)
    #expect(try other.call("Answer", "{\"ticket\":\"\(ticket)\",\"answer\":\"veto\"}").error == nil)
    let verdict = try client.next()
    #expect(!verdict.continues && verdict["verdict"] == "vetoed")
    #expect(try client.call("org.varlink.service.GetInfo")["product"] == "tribuned")
  }

  @Test("a delegate that reads in the end gets all questions, however often it was blocked")
  func blockedDelegate() throws {
    try folder.write(
      "[Queue]\nHardLimit=1M\nHighMark=256K\nLowMark=64K\n[Bus]\nPayloadMax=512K\n",
      to: "etc/tribuned.conf.d/small.conf")
    try bus.reload("")
    let delegate = try VarlinkClient(bus)
    #expect(try delegate.start("Delegate", "{\"names\":[\"user.65534.shouldB\"]}")["kind"] == "ready")
    let askers = try (0..<20).map { _ in try VarlinkClient(bus, as: Self.ann) }
    let userInfo = "{\"x\":\"\(String(repeating: "x", count: 20_000))\"}"
    let witness = try RawClient.greeted(bus)
    for _ in 0..<8 {
      for asker in askers {
        try asker.send("Ask", "{\"name\":\"user.65534.shouldB\",\"userInfo\":\(userInfo)}")
        for _ in 0..<3 { try witness.settle() }
      }
      var asked = 0
      while asked < askers.count {
        let message = try delegate.next()
        guard message["kind"] == "question" else { continue }
        asked += 1
        let answer = try client.call("Answer", "{\"ticket\":\"\(message["ticket"])\",\"answer\":\"veto\"}")
        #expect(answer.error == nil)
      }
      for asker in askers { #expect(try asker.next().first(of: "outcomes")["outcome"] == "vetoed") }
    }
  }

  @Test("a value comes with its outcome")
  func values() throws {
    let delegate = try VarlinkClient(bus)
    _ = try delegate.start("Delegate", "{\"names\":[\"a.size\"]}")
    try client.send("Ask", "{\"name\":\"a.size\",\"mode\":\"collect\"}")
    let question = try delegate.next()
    #expect(question["wantsValue"] == "1")
    let answer = "{\"ticket\":\"\(question["ticket"])\",\"answer\":\"value\",\"value\":{\"bytes\":7}}"
    #expect(try VarlinkClient(bus).call("Answer", answer).error == nil)
    #expect(try client.next().text.contains("\"value\":{\"bytes\":7}"))
  }

  @Test("a hold vetoes until its call ends")
  func holds() throws {
    var holder: VarlinkClient? = try VarlinkClient(bus)
    #expect(try holder?.start("Hold", "{\"name\":\"a.*\",\"why\":\"busy\"}").continues == true)
    #expect(try client.call("Ask", "{\"name\":\"a.shouldB\"}").first(of: "outcomes")["reason"] == "busy")
    holder = nil
    let native = try RawClient.greeted(bus)
    try bus.wait(serving: native) {
      try client.call("Ask", "{\"name\":\"a.shouldB\"}")["verdict"] == "allowed"
    }
    #expect(try client.start("Hold", "{\"name\":\"a.*\",\"why\":\"busy\",\"expirySec\":0.01}").continues)
    #expect(try client.next()["why"] == "expired")
    #expect(try client.call("Ask", "{\"name\":\"a.shouldB\"}")["verdict"] == "allowed")
  }

  @Test("the policy decides as for other clients, and ends what it no longer allows")
  func policy() throws {
    let ann = try VarlinkClient(bus, as: Self.ann)
    #expect(try ann.call("Tell", "{\"name\":\"host.a\"}")["code"] == "notPermitted")
    #expect(try ann.call("Tell", "{\"name\":\"user.65534.a\"}").error == nil)
    let refused = try ann.start("Observe", "{\"patterns\":[\"user.65534.**\",\"host.**\"]}")
    #expect(refused["code"] == "notPermitted" && !refused.continues)
    try folder.write("allow * user.65534.** user:65534\n", to: "etc/policy.d/ann.policy")
    try bus.reload("")
    #expect(try ann.start("Observe", "{\"patterns\":[\"user.65534.b\"]}")["kind"] == "ready")
    for name in ["a", "b"] {
      #expect(try client.call("Tell", "{\"name\":\"user.65534.\(name)\"}").error == nil)
    }
    #expect(try ann.next()["name"] == "user.65534.b")
    let delegate = try VarlinkClient(bus, as: Self.ann)
    #expect(try delegate.start("Delegate", "{\"names\":[\"user.65534.c\"]}")["kind"] == "ready")
    try folder.write("allow post user.65534.** user:65534\n", to: "etc/policy.d/ann.policy")
    try bus.reload("")
    let end = try ann.next()
    #expect(end["code"] == "notPermitted" && !end.continues)
    #expect(try ann.nextIfAny() == nil)
    #expect(try delegate.next()["kind"] == "ended")
    #expect(try delegate.call("Tell", "{\"name\":\"user.65534.d\"}").error == nil)
  }

  @Test("only the asked user may answer, and only with the ticket")
  func tickets() throws {
    let delegate = try VarlinkClient(bus, as: Self.ann)
    #expect(try delegate.start("Delegate", "{\"names\":[\"user.65534.shouldC\"]}")["kind"] == "ready")
    try client.send("Ask", "{\"name\":\"user.65534.shouldC\"}")
    let ticket = try delegate.next()["ticket"]
    let ann = try VarlinkClient(bus, as: Self.ann)
    func approve(_ ticket: some StringProtocol, _ client: VarlinkClient) throws -> String {
      try client.call("Answer", "{\"ticket\":\"\(ticket)\",\"answer\":\"approve\"}")["code"]
    }
    #expect(try approve(ticket, VarlinkClient(bus)) == "notAsked")
    #expect(try approve(ticket.prefix { $0 != "." } + ".1.1.0", ann) == "notAsked")
    #expect(try approve(ticket, ann) == "")
    #expect(try client.next()["verdict"] == "allowed")
  }

  @Test("connections count for their user, and one too many gets a refusal that a client understands")
  func connectionsMax() throws {
    try bus.reload("[Bus]\nConnectionsMax=8\n")
    var clients: [VarlinkClient] = []
    var last: VarlinkClient.Reply?
    for _ in 0..<8 where last?.error == nil {
      clients.append(try VarlinkClient(bus, as: Self.ann))
      last = try clients.last?.call("org.varlink.service.GetInfo")
    }
    #expect(last?.error == "io.tribune.Bus.Refused" && last?["code"] == "tooManyConnections")
  }

  @Test("calls continue in the next daemon, with the same tickets", arguments: RestartedBus.Way.allCases)
  func restart(_ way: RestartedBus.Way) throws {
    let bus = try RestartedBus.withVarlink()
    let (observer, delegate) = (try VarlinkClient(bus), try VarlinkClient(bus))
    let (holder, asker) = (try VarlinkClient(bus), try VarlinkClient(bus))
    _ = try observer.start("Observe", "{\"patterns\":[\"a.*\"]}")
    _ = try delegate.start("Delegate", "{\"names\":[\"a.shouldB\"],\"timeoutSec\":60}")
    _ = try holder.start("Hold", "{\"name\":\"b.*\",\"why\":\"busy\"}")
    try asker.send("Ask", "{\"name\":\"a.shouldB\",\"deadlineSec\":60}")
    let question = try delegate.next()
    try bus.restart(way)
    let other = try VarlinkClient(bus)
    #expect(try other.call("Ask", "{\"name\":\"b.shouldC\"}").first(of: "outcomes")["reason"] == "busy")
    let veto = "{\"ticket\":\"\(question["ticket"])\",\"answer\":\"veto\"}"
    #expect(try other.call("Answer", veto).error == nil)
    #expect(try asker.next()["verdict"] == "vetoed")
    #expect(try delegate.next()["kind"] == "concluded")
    #expect(try other.call("Tell", "{\"name\":\"a.told\"}").error == nil)
    #expect(try observer.next()["name"] == "a.told")
    #expect(try asker.call("Tell", "{\"name\":\"a.told\"}").error == nil)
  }

  @Test("a client whose calls waited when the daemon died gets an error as a reply")
  func lostCalls() throws {
    let bus = try RestartedBus.withVarlink()
    let (client, delegate) = (try VarlinkClient(bus), try RawClient.greeted(bus))
    try delegate.attach(Attach(timeout: 60_000, patterns: ["a.shouldB"]), serial: 1)
    try client.send("Ask", "{\"name\":\"a.shouldB\",\"deadlineSec\":60}")
    _ = try delegate.nextQuestion()
    try client.send("org.varlink.service.GetInfo")
    // The bus reads ready connections in the order in which they became ready.
    try delegate.settle()
    try bus.restart(.crash)
    let reply = try client.next()
    #expect(reply.error == "io.tribune.Bus.Refused" && reply["code"] == "restarted")
    #expect(try client.nextIfAny() == nil)
  }

  @Test("a client that does not read keeps its connection when the bus is killed between two replies")
  func unreadReplies() throws {
    let bus = try RestartedBus.withVarlink()
    let observer = try VarlinkClient(bus)
    #expect(try observer.start("Observe", "{\"patterns\":[\"a\",\"b\"]}")["kind"] == "ready")
    let poster = try RawClient.greeted(bus)
    for _ in 0..<5_000 { try poster.send(Post(), serial: 0, name: "a") }
    try poster.settle()
    try bus.restart(.crash)
    try RawClient.greeted(bus).sendConfirmed(Post(), serial: 1, name: "b")
    var (count, lost) = (0, 0)
    while true {
      let reply = try observer.next()
      if reply["name"] == "b" { break }
      if reply["kind"] == "lost" { lost += Int(reply["lost"]) ?? 0 } else { count += 1 }
    }
    #expect(count + lost == 5_000 && lost > 0, "\(count) \(lost)")
  }

  @Test("the next daemon sends the rest of a reply, and then handles calls that wait")
  func partialReply() throws {
    let bus = try RestartedBus.withVarlink()
    let client = try VarlinkClient(bus)
    let delegate = try RawClient.greeted(bus)
    try delegate.attach(Attach(timeout: 60_000, patterns: ["a.size"]), serial: 1)
    try client.send("Ask", "{\"name\":\"a.size\",\"mode\":\"collect\",\"deadlineSec\":60}")
    try client.send("org.varlink.service.GetInfo")
    let question = try delegate.nextQuestion()
    let value = "{\"a\":\"\(String(repeating: "x", count: 120_000))\"}"
    try delegate.answer(question.question, .value, value)
    try delegate.settle()
    try bus.restart(.planned)
    #expect(try client.next().text.contains(value))
    #expect(try client.next()["product"] == "tribuned")
  }
}
