// SPDX-License-Identifier: Apache-2.0

import Testing
import TribunePolicy
import TribuneWire

@Suite("The installed policy", .timeLimit(.minutes(15)))
final class InstalledPolicyTests {
  private static let (ann, bob): (UInt32, UInt32) = (65_533, 65_534)
  private static let secret = "secret"

  private let bus: TestBus
  private var serial = 1000 as Serial

  init() throws {
    let folder = try TestFolder()
    try folder.write(Script.text(of: "config/50-default.policy"), to: "etc/policy.d/50-default.policy")
    bus = try TestBus(folder: folder)
  }

  private func name(_ uid: UInt32, _ rest: String) -> String { "user.\(uid).\(rest)" }

  private struct Clients {
    let uid: UInt32
    let observer: RawClient
    let delegate: RawClient
    let other: RawClient
    let ids: [ConnectionID]
    let word: String

    var prefix: String { uid == 0 ? "host" : "user.\(uid)" }
  }

  private func clients(of uid: UInt32) throws -> Clients {
    let word = uid == Self.ann ? Self.secret : "public"
    let (clients, ids) = try (0..<3).reduce(into: ([RawClient](), [ConnectionID]())) { all, _ in
      let client = try RawClient(path: bus.path, user: uid)
      all.1.append(try client.greet().connection)
      all.0.append(client)
    }
    let all = Clients(
      uid: uid, observer: clients[0], delegate: clients[1], other: clients[2], ids: ids, word: word)
    try all.other.sendConfirmed(
      Post(options: .retain), serial: 1, name: "\(all.prefix).status", object: word, text: "\"\(word)\"")
    try all.observer.sendConfirmed(Observe(options: .awaited), serial: 1, name: "\(all.prefix).didEnd")
    try all.delegate.attach(Attach(label: word, patterns: ["\(all.prefix).shouldQuit"]), serial: 2)
    try all.delegate.sendConfirmed(Hold(label: word), serial: 3, name: "\(all.prefix).shouldHalt", text: word)
    return all
  }

  private func expectUntouched(_ clients: Clients) throws {
    let (observer, delegate, other) = (clients.observer, clients.delegate, clients.other)
    let prefix = clients.prefix
    func peers(_ verdict: Verdict) -> [UInt32] { verdict.outcomes.map(\.delegate.peer.uid) }
    serial += 1
    try other.send(Ask(mode: .all), serial: serial, name: "\(prefix).shouldQuit")
    let question = try delegate.nextQuestion()
    #expect(question.frame.header.sender == clients.ids[2])
    try delegate.answer(question.question, .veto, "busy")
    let asked = try other.nextVerdict()
    #expect(asked.verdict == .vetoed && peers(asked) == [clients.uid] && asked.outcomes[0].reason == "busy")
    let held = try other.ask("\(prefix).shouldHalt", Ask(mode: .all), serial: serial)
    #expect(held.verdict == .vetoed && peers(held) == [clients.uid])
    try other.send(Post(options: .awaited), serial: serial, name: "\(prefix).didEnd")
    let post = try observer.next()
    #expect(post.kind == .post && post.name == "\(prefix).didEnd" && post.header.sender == clients.ids[2])
    try observer.send(Done(poster: clients.ids[2], post: serial), serial: serial)
    let awaited = try other.next(.awaited).decode(Awaited.self)
    #expect(awaited.acknowledged == 1)
    try observer.send(
      Observe(options: .retained), serial: serial, name: "\(prefix).status", object: clients.word)
    #expect(try observer.next(.ok).header.serial == serial)
    #expect(try observer.next(.retained).payload == "\"\(clients.word)\"")
    try observer.sendConfirmed(Cancel(target: serial), serial: serial + 1)
    serial += 1
  }

  private struct Attempt {
    let refused: Action?
    let bytes: (Serial) -> [UInt8]
    let text: String

    init(
      _ refused: Action?, _ fields: some FrameFields, _ name: String = "", object: String = "",
      text: String = "", flags: FrameFlags = .acknowledge
    ) {
      self.refused = refused
      bytes = { serial in
        RawClient.bytes {
          $0.appendFrame(
            fields, flags: fields is Post ? flags : [], serial: serial, name: name, object: object, text: text
          )
        }
      }
      self.text = "\(fields) \(name) \(object)"
    }
  }

  private func foreign(_ last: String) -> [String] {
    [name(Self.ann, last), name(Self.bob * 10, last), "user.\(last)", "host.\(last)", "unit.a.\(last)"]
  }

  private func foreignPatterns(_ last: String) -> [String] {
    foreign(last) + ["**", "user.**", "user.*.\(last)", "*.\(Self.bob).**", "host.**"]
  }

  private func attempts(of action: Action) -> [Attempt] {
    let pattern = name(Self.bob, "**")
    func own(_ last: String) -> String { name(Self.bob, last) }
    switch action {
    case .post:
      return foreign("didEnd").flatMap {
        [Attempt(.post, Post(), $0), Attempt(.post, Post(style: .whenIdle), $0, flags: [])]
      } + [
        Attempt(.post, Post(options: [.awaited, .coalescing]), name(Self.ann, "didEnd")),
        Attempt(nil, Post(), own("didEnd")),
      ]
    case .retain:
      return foreign("status").flatMap { name in
        ["", "1"].map { Attempt(.post, Post(options: .retain), name, object: Self.secret, text: $0) }
      } + [Attempt(nil, Post(options: .retain), own("status"), text: "1")]
    case .observe:
      let patterns = ([""] + foreignPatterns("didEnd")).filter {
        !$0.hasPrefix("host.") && !$0.hasPrefix("unit.")
      }
      return patterns.map { Attempt(.observe, Observe(options: [.retained, .awaited]), $0) }
        + ["tribune.**", "tribune.query.*", "tribune.connection.*", "tribune.bus.*"]
        .map { Attempt(.observe, Observe(), $0) }
        + ["unit.**", pattern, "tribune.hold.*", "tribune.delegate.*", "tribune.bus.didReload"]
        .map { Attempt(nil, Observe(), $0) }
    case .ask:
      let names = foreign("shouldHalt").filter { $0.hasPrefix("user.") }
      return names.flatMap { name in
        QueryMode.allCases.map { Attempt(.ask, Ask(mode: $0), name) }
          + [Attempt(.ask, Ask(flags: .isDryRun), name)]
      } + ["host.shouldHalt", "unit.a.shouldStop", own("shouldHalt")].map { Attempt(nil, Ask(), $0) }
    case .delegate:
      return foreignPatterns("shouldQuit").map { Attempt(.delegate, Attach(order: .min, patterns: [$0])) }
        + [
          Attempt(.delegate, Attach(patterns: [own("shouldQuit"), name(Self.ann, "shouldQuit")])),
          Attempt(nil, Attach(timeout: .max, patterns: [pattern])),
        ]
    case .set:
      return foreignPatterns("shouldQuit").map { Attempt(.delegate, Attach(patterns: [$0], isSet: true)) }
        + [Attempt(nil, Attach(patterns: [pattern], isSet: true))]
    case .hold:
      return ([""] + foreignPatterns("shouldQuit")).map { Attempt(.hold, Hold(), $0, text: "why") }
        + [Attempt(nil, Hold(), pattern, text: "why")]
    case .override:
      let ask = Ask(flags: .overrides, overrideReason: "I say so")
      let names = foreign("shouldHalt")
      return names.map { Attempt($0.hasPrefix("user.") ? .ask : .override, ask, $0) }
        + [Attempt(nil, ask, own("shouldHalt"))]
    case .claim:
      let claim = Begin(query: QueryID(rawValue: 0), stage: .claiming)
      return foreign("shouldHalt").map { Attempt($0.hasPrefix("user.") ? .ask : .claim, claim, $0) }
        + [Attempt(nil, claim, own("shouldHalt"))]
    case .declare:
      return [Self.secret, "host", "user/\(Self.bob)"].map { object in
        Attempt(.declare, Declare(protocolName: "Evil"), object: object)
      } + [
        Attempt(.declare, Declare(), text: "protocol Evil {}"),
        Attempt(
          .declare, Declare(protocolName: "Evil"), object: "user/\(Self.bob)", text: "protocol Evil {}"),
      ]
    case .monitor:
      return ([""] + foreignPatterns("didEnd")).map { Attempt(.monitor, Monitor(), $0) }
        + [Attempt(nil, Monitor(), pattern)]
    case .list:
      return ListSubject.allCases.filter { $0 != .access && $0 != .endings }.map { subject in
        switch subject {
        case .objects, .protocols: Attempt(.list, List(subject))
        case .members: Attempt(.list, List(subject), object: Self.secret)
        case .chain: Attempt(.list, List(subject), name(Self.ann, "shouldQuit"))
        default: Attempt(nil, List(subject))
        }
      } + [Attempt(.monitor, List(.endings), text: "\0")]
    }
  }

  private func reply(to serial: Serial, by client: RawClient) throws -> RawClient.Frame {
    while true {
      let frame = try client.next()
      let text = String(decoding: frame.bytes, as: UTF8.self)
      #expect(frame.kind == .error || !text.contains(Self.secret), "\(text)")
      if frame.kind == .entry {
        switch try frame.decode(Entry.self) {
        case .connection(let entry): #expect(entry.peer.uid == Self.bob)
        case .account(let entry): #expect(entry.uid == Self.bob)
        case .departed(let entry): #expect(entry.peer.uid == Self.bob)
        default: break
        }
      } else if frame.header.serial == serial, [.ok, .error, .verdict].contains(frame.kind) {
        return frame
      }
    }
  }

  @Test("does not let a user affect another one without a line that grants it", arguments: Action.allCases)
  func actions(_ action: Action) throws {
    let ann = try clients(of: Self.ann)
    let root = try clients(of: 0)
    let bob = try RawClient.greeted(bus, as: Self.bob)
    var refusals = 0
    for (index, attempt) in attempts(of: action).enumerated() {
      let serial = Serial(index + 1)
      try bob.send(attempt.bytes(serial))
      let reply = try reply(to: serial, by: bob)
      let code = try reply.kind == .error ? reply.decode(Refusal.self).code : nil
      if let refused = attempt.refused {
        refusals += 1
        #expect(code == .notPermitted, "\(attempt.text)")
        #expect(
          reply.payload.hasPrefix("user \(Self.bob) may not \(refused) ")
            && reply.payload.hasSuffix(": no line of the policy allows it"),
          "\(attempt.text) \(reply.payload)")
      } else {
        #expect(code == nil, "\(attempt.text) \(reply.payload)")
      }
    }
    #expect(refusals > 0)
    try expectUntouched(ann)
    try expectUntouched(root)
    #expect(try root.other.busEntry().denied == UInt64(refusals))
  }

  @Test("does not let frames that need no line reach another user")
  func withoutPermission() throws {
    let ann = try clients(of: Self.ann)
    let bob = try RawClient(path: bus.path, user: Self.bob)
    let id = try bob.greet().connection
    try ann.other.send(Ask(), serial: 50, name: "\(ann.prefix).shouldQuit")
    let question = try ann.delegate.nextQuestion().question
    try ann.other.send(Post(options: .awaited), serial: 51, name: "\(ann.prefix).didEnd")
    #expect(try ann.observer.next(.post).header.serial == 51)

    func expectRefusal(_ fields: some FrameFields, _ code: ErrorCode) throws {
      serial += 1
      try bob.send(fields, serial: serial)
      let reply = try reply(to: serial, by: bob)
      #expect(try reply.kind == .error && reply.decode(Refusal.self).code == code, "\(fields)")
    }
    // Unlike a hold, a delegate always names its messages.
    for isSet in [false, true] {
      for patterns in [[], [""], ["user.\(Self.bob).a", ""]] {
        try expectRefusal(Attach(patterns: patterns, isSet: isSet), .invalidPattern)
      }
    }
    for answer in AnswerKind.allCases {
      try expectRefusal(
        Answer(query: question.query, delegate: question.delegate, answer: answer), .notAsked)
    }
    for delegate in [question.delegate, DelegateID(rawValue: 0)] {
      try expectRefusal(
        Defer(query: question.query, delegate: delegate, extension: .max), .notAsked)
    }
    for poster in ann.ids {
      try expectRefusal(Done(poster: poster, post: 51), .notAsked)
      try expectRefusal(Done(poster: poster, post: 51, hasFailed: true), .notAsked)
      try expectRefusal(Succeed(predecessor: poster, received: 0), .notFound)
    }
    for target in [1, 2, 3, 50, 51] as [Serial] { try expectRefusal(Cancel(target: target), .notFound) }
    try bob.sendConfirmed(Suspend(isSuspended: true), serial: 60)
    let name = "user.\(Self.bob).didEnd"
    let root = try RawClient.observing("user.**", on: bus)
    try bob.post(name, bytes: [], serial: 61, sender: ann.ids[2])
    let post = try root.next()
    #expect(post.name == name && post.header.sender == id)
    #expect(
      try bob.ask("user.\(Self.bob).shouldQuit", Ask(parent: question.query.rawValue), serial: 62).verdict
        == .allowed)

    try ann.observer.send(Done(poster: ann.ids[2], post: 51), serial: 4)
    let awaited = try ann.other.next(.awaited).decode(Awaited.self)
    #expect(awaited.acknowledged == 1 && awaited.missing.isEmpty)
    try ann.delegate.answer(question, .veto, "busy")
    #expect(try ann.other.nextVerdict().outcomes.map(\.reason) == ["busy"])
    try expectUntouched(ann)
  }

  @Test("lets a user take part in matters of the host, but decide none")
  func granted() throws {
    let root = try clients(of: 0)
    let bob = try RawClient(path: bus.path, user: Self.bob)
    let id = try bob.greet().connection
    // It gets retained posts, and delays awaiting posters until the deadline.
    try bob.send(Observe(options: [.awaited, .retained]), serial: 1, name: "host.**")
    #expect(try bob.next(.retained).payload == "\"\(root.word)\"")
    try root.other.send(Post(options: .awaited, deadline: 50), serial: 70, name: "host.didEnd")
    #expect(try root.observer.next(.post).header.serial == 70)
    try root.observer.send(Done(poster: root.ids[2], post: 70), serial: 4)
    let awaited = try root.other.next(.awaited).decode(Awaited.self)
    #expect(awaited.acknowledged == 1 && awaited.missing.map(\.connection) == [id])
    #expect(try bob.next(.post).name == "host.didEnd")
    try bob.sendConfirmed(Cancel(target: 1), serial: 2)
    try bob.send(Ask(), serial: 3, name: "host.shouldQuit")
    let question = try root.delegate.nextQuestion()
    #expect(question.frame.header.sender == id)
    try root.delegate.answer(question.question, .veto, "busy")
    #expect(try bob.nextVerdict().outcomes.map(\.reason) == ["busy"])
    try expectUntouched(root)
  }

  @Test("is overruled by a line that denies, whether its file comes first or last", arguments: ["10", "90"])
  func files(_ order: String) throws {
    try bus.folder.write(
      "deny ask host.shouldHalt user:\(Self.bob)\n", to: "etc/policy.d/\(order)-local.policy")
    try bus.reload("")
    for (uid, isDenied) in [(Self.ann, false), (Self.bob, true)] {
      let client = try RawClient.greeted(bus, as: uid)
      try client.send(Ask(), serial: 1, name: "host.shouldHalt")
      let reply = try client.next()
      #expect(reply.kind == (isDenied ? .error : .verdict))
      #expect(
        !isDenied
          || reply.payload.hasSuffix(": denied by \(bus.folder.path)/etc/policy.d/\(order)-local.policy:1"))
    }
  }
}
