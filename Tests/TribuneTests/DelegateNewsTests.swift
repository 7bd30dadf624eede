// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TribuneWire

@testable import Tribune

/// What delegates are told besides questions.
@Suite(.timeLimit(.minutes(15)))
struct DelegateNewsTests {
  @Test func aDelegateIsToldWhatItsObjectWillDoAndDidInOrder() async throws {
    let delegate = Listener()
    try await conversation { peer in
      let attachment = try peer.attach()
      try peer.post("window.willClose", object: "window/42", text: "1")
      // About another object, under a name it does not respond to, and ones that announce nothing.
      try peer.post("window.didClose", object: "window/43")
      try peer.post("disk.didFill", object: "window/42")
      try peer.post("window.close", object: "window/42")
      try peer.post("window.didactic", object: "window/42")
      try peer.send(Lost(count: 3))
      try peer.post("window.didFailToClose", object: "window/42")
      for number in 0..<100 { try peer.post("window.didMove", object: "window/42", text: "\(number)") }
      try peer.send(Ended.replaced(by: delegateEntry(78, "heir")), serial: attachment)
      try peer.post("window.didClose", object: "window/42")
    } client: { connection in
      try await connection.attach(delegate, to: "window/42", respondingTo: ["window.*"])
      let moves = (0..<100).map { "window.didMove \($0)" }
      #expect(
        await delegate.next(104)
          == ["window.willClose 1", "lost 3", "window.didFailToClose "] + moves + ["replaced by heir"])
    }
    #expect(delegate.rest == [])
  }

  @Test func oneThatRespondsToNoneOfThemIsToldNothing() async throws {
    try await conversation { peer in
      let attachment = try peer.attach()
      try peer.send(Lost(count: 3))
      try peer.post("window.didClose", object: "window/42")
      try peer.send(Ended.replaced(by: delegateEntry(78, "heir")), serial: attachment)
    } client: { connection in
      let delegate = Listener()
      try await connection.attach(
        delegate, to: "window/42", respondingTo: ["window.shouldClose", "a.did.*.b"])
      #expect(await delegate.next(1) == ["replaced by heir"])
    }
  }

  @Test func anObserverOfTheSameConnectionReceivesTheCopyToo() async throws {
    try await conversation { peer in
      _ = try peer.attach()
      try peer.confirmObservation()
      try peer.post("window.didClose", object: "window/42")
    } client: { connection in
      let delegate = Listener()
      try await connection.attach(delegate, respondingTo: ["**"])
      var iterator = try await connection.observe("window.*").makeAsyncIterator()
      #expect(try await iterator.next()?.object == "window/42")
      #expect(await delegate.next(1) == ["window.didClose "])
    }
  }

  @Test(arguments: [true, false])
  func aNotificationDoesNotOvertakeTheQuestionBeforeIt(isOnAnActor: Bool) async throws {
    let count = 200
    try await conversation { peer in
      let attachment = try peer.attach()
      for number in 1...count {
        try peer.question(UInt64(number), of: attachment)
        try peer.post("window.didMove", object: "window/42", text: "\(number)")
      }
    } client: { connection in
      let listener = Listener()
      let clerk = Clerk()
      if isOnAnActor {
        try await connection.attach(clerk, respondingTo: ["window.*"])
      } else {
        try await connection.attach(listener, respondingTo: ["window.*"])
      }
      let told = isOnAnActor ? await clerk.next(2 * count) : await listener.next(2 * count)
      for number in 1...count {
        let asked = try #require(told.firstIndex(of: "asked \(number)"))
        let moved = try #require(told.firstIndex(of: "window.didMove \(number)"))
        #expect(asked < moved)
      }
    }
  }

  @Test func aQuestionDoesNotWaitForWhatIsTold() async throws {
    let answered = Gate()
    try await conversation { peer in
      let attachment = try peer.attach()
      try peer.post("window.willClose", object: "window/42")
      try peer.question(1, of: attachment)
      _ = try peer.next(.answer)
      answered.open()
    } client: { connection in
      let delegate = Listener(holdingBack: true)
      try await connection.attach(delegate, respondingTo: ["window.*"])
      #expect(await delegate.next(2).sorted() == ["asked 1", "window.willClose "])
      delegate.goOn()
      await answered.opened()
    }
  }

  @Test func neverTwoAreToldAtATimeAndWhatIsTooMuchIsDroppedAndTold() async throws {
    let isTold = Gate()
    let count = 5000
    try await conversation { peer in
      _ = try peer.attach()
      try peer.post("window.willMove", object: "window/42")
      isTold.wait()
      for number in 0..<count { try peer.post("window.didMove", object: "window/42", text: "\(number)") }
      try peer.confirmPost()
    } client: { connection in
      let delegate = Listener(holdingBack: true)
      try await connection.attach(delegate, respondingTo: ["window.*"])
      #expect(await delegate.next(1) == ["window.willMove "])
      isTold.open()
      // The reply lies behind everything that was posted, and still only the first is told.
      try await connection.postAcknowledged("ping")
      #expect(delegate.rest == [])
      delegate.goOn()
      let kept = (count - 4096..<count).map { "window.didMove \($0)" }
      #expect(await delegate.next(4097) == ["lost \(count - 4096)"] + kept)
    }
  }

  @Test func whoHasDetachedIsToldNothingMore() async throws {
    let delegate = Listener(holdingBack: true)
    try await conversation { peer in
      _ = try peer.attach()
      for number in 0..<3 { try peer.post("window.didMove", object: "window/42", text: "\(number)") }
      let cancel = try peer.next(.cancel)
      try peer.post("window.didMove", object: "window/42", text: "crossed")
      try peer.send(Okay(), serial: cancel.serial)
    } client: { connection in
      let attachment = try await connection.attach(delegate, respondingTo: ["window.*"])
      #expect(await delegate.next(1) == ["window.didMove 0"])
      try await attachment.detach()
      delegate.goOn()
    }
    #expect(delegate.rest == [])
  }

  @Test func theAttachmentOfADelegateThatIsGoneIsTakenBackAtTheNextNotification() async throws {
    let gone = Gate()
    let takenBack = Gate()
    try await conversation { peer in
      let attachment = try peer.attach()
      gone.wait()
      for _ in 1...3 { try peer.post("window.didMove", object: "window/42") }
      #expect(try peer.next(.cancel).decode(Cancel.self).target == attachment)
      takenBack.open()
      #expect(try peer.nextIfAny() == nil)
    } client: { connection in
      var delegate: Listener? = Listener()
      if let delegate { try await connection.attach(delegate, respondingTo: ["window.*"]) }
      delegate = nil
      gone.open()
      await takenBack.opened()
    }
  }

  @Test func howADelegateIsSetReachesTheBusAndDetachingTheReplacedChangesNothing() async throws {
    let rest = try await conversation { peer in
      let set = try peer.next(.attach)
      #expect(
        try set.decode(Attach.self)
          == Attach(label: "one", patterns: ["window.*"], isSet: true, protocols: ["P", "Q"]))
      try peer.send(Okay(registration: set.serial, delegate: 77), serial: set.serial)
      try peer.question(1, of: set.serial)
      _ = try peer.next(.answer)
      try peer.send(Ended.replaced(by: delegateEntry(78, "heir")), serial: set.serial)
      return try peer.restOfKinds()
    } client: { connection in
      let delegate = Listener()
      let attachment = try await connection.set(
        delegate, to: "window/42", respondingTo: ["window.*"], label: "one", conformingTo: ["P", "Q"])
      // How the query ends nobody tells it any more.
      #expect(
        await Set(delegate.next(3)) == ["asked 1", "replaced by heir", "concluded 1 cancelled"])
      try await attachment.detach()
    }
    #expect(rest == [])
  }

  @Test(arguments: [true, false])
  func aQueryThatIsOpenWhenTheConnectionEndsCountsAsCancelled(isAnswered: Bool) async throws {
    let bus = try ScriptedBus()
    let script: Playing<Void> = try bus.play { peer in
      try peer.greet()
      let attachment = try peer.attach()
      try peer.question(1, of: attachment)
      if isAnswered { _ = try peer.next(.answer) }
    }
    let connection = try await Connection.connect(to: bus.address, reconnectingFor: .zero)
    let delegate = Listener(answering: isAnswered ? .approve : nil)
    try await connection.attach(delegate, respondingTo: ["window.*"])
    try await script.value
    let told = await delegate.next(2)
    #expect(told == ["asked 1", "concluded 1 cancelled"])
    #expect(await connection.closed()?.code == .connectionLost)
  }

  @Test func whatADelegateIsAskedSaysWhatItIs() async throws {
    let answered = Gate()
    try await conversation { peer in
      let attachment = try peer.attach()
      for (isDryRun, wantsValue) in [(true, false), (false, true)] {
        try peer.send(
          TribuneWire.Question(
            query: QueryID(rawValue: isDryRun ? 1 : 2), delegate: DelegateID(rawValue: 77), timeout: 5000,
            asker: identity(0, "").peer, isDryRun: isDryRun, wantsValue: wantsValue),
          sender: ConnectionID(rawValue: 9), serial: attachment, name: "browser.rows")
        let answer = try peer.next(.answer)
        #expect(try answer.decode(TribuneWire.Answer.self).answer == .value)
        #expect(answer.payload == "dry \(isDryRun) value \(wantsValue) delegate 77")
      }
      answered.open()
    } client: { connection in
      let delegate = Source()
      try await connection.attach(delegate, respondingTo: ["browser.rows"])
      await answered.opened()
    }
  }

  @Test func aValueThatTheBusDoesNotTakeIsAFailure() async throws {
    let answered = Gate()
    try await conversation(payloadMax: 10) { peer in
      let attach = try peer.next(.attach)
      try peer.send(Okay(registration: attach.serial, delegate: 77), serial: attach.serial)
      try peer.question(1, of: attach.serial)
      let answer = try peer.next(.answer)
      #expect(try answer.decode(TribuneWire.Answer.self).answer == .failed)
      #expect(answer.payload.contains("over the bus's limit of 10"))
      answered.open()
    } client: { connection in
      let delegate = Source()
      try await connection.attach(delegate, respondingTo: ["window.shouldClose"])
      await answered.opened()
    }
  }

  @Test func attachingIsNotTriedForEver() async throws {
    let tries = try await conversation { peer in
      var tries = 0
      while let attach = try peer.nextIfAny() {
        tries += 1
        try peer.send(Okay(registration: 1_000_000, delegate: 76), serial: attach.serial)
      }
      return tries
    } client: { connection in
      let delegate = Listener()
      #expect(
        await failure { try await connection.attach(delegate, respondingTo: ["window.*"]) }?.code == .refused)
    }
    #expect(tries == 8)
  }

  @Test func whatCannotBeConformedToNeverLeaves() async throws {
    try await expectSilence { connection in
      let delegate = Listener()
      for (protocols, code) in [
        ((0...32).map { "P\($0)" }, TribuneError.Code.limitExceeded), ([""], .unknownProtocol),
        ([String(repeating: "P", count: 256)], .limitExceeded),
      ] {
        #expect(
          await failure { try await connection.set(delegate, respondingTo: ["a"], conformingTo: protocols) }?
            .code
            == code)
      }
    }
  }

  @Test func itsReplacementIsToldAlsoWhileTheConnectionIsMadeAnew() async throws {
    let delegate = Listener()
    let attached = AttachedDelegate(
      delegate, object: "", patterns: [try Pattern("window.willClose")], renewal: [])
    attached.keepPlace()
    let starts = attached.replace(by: DelegateInfo(delegateEntry(78, "other")))
    #expect(starts)
    attached.startTelling()
    #expect(await delegate.next(2) == ["interrupted", "replaced by other"])
  }
}

/// A delegate that notes what it is told.
private final class Listener: Delegate {
  private let told: (stream: AsyncStream<String>, continuation: AsyncStream<String>.Continuation)
  private let held = Mutex<[String]>([])
  private let reply: Tribune.Answer?
  private let pause: AsyncStream<Void>?
  private let pauseEnd: AsyncStream<Void>.Continuation?

  /// - Parameters:
  ///   - isHeldBack: whether it is at the first that it is told until `goOn()`.
  ///   - reply: what it answers; nil is nothing, until its task is cancelled.
  init(holdingBack isHeldBack: Bool = false, answering reply: Tribune.Answer? = .approve) {
    told = AsyncStream.makeStream()
    self.reply = reply
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    pause = isHeldBack ? stream : nil
    pauseEnd = isHeldBack ? continuation : nil
  }

  func goOn() { pauseEnd?.finish() }

  func answer(_ question: Tribune.Question) async -> Tribune.Answer {
    note("asked \(question.query)")
    if let reply { return reply }
    for await _ in AsyncStream<Void>.makeStream().stream {}
    return .abstain
  }

  func concluded(_ conclusion: Conclusion) {
    note("concluded \(conclusion.query) \(conclusion.ending.rawValue)")
  }

  func received(_ delivery: Delivery) async {
    switch delivery {
    case .notification(let notification): note("\(notification.name) \(notification.userInfo)")
    case .lost(let count): note("lost \(count)")
    case .interrupted: note("interrupted")
    }
    if let pause { for await _ in pause {} }
  }

  func replaced(by delegate: DelegateInfo) {
    note("replaced by \(delegate.label)")
  }

  /// The next of what it is told.
  func next(_ count: Int) async -> [String] {
    var next: [String] = []
    for await line in told.stream {
      next.append(line)
      held.withLock { _ = $0.removeFirst() }
      if next.count == count { break }
    }
    return next
  }

  /// What nobody has taken with `next(_:)`.
  var rest: [String] { held.withLock { $0 } }

  private func note(_ line: String) {
    held.withLock { $0.append(line) }
    told.continuation.yield(line)
  }
}

/// A data source whose values say how it was asked.
private final class Source: Delegate {
  func answer(_ question: Tribune.Question) -> Tribune.Answer {
    .value(
      UserInfo("dry \(question.isDryRun) value \(question.wantsValue) delegate \(question.delegate)"))
  }
}

/// A delegate on an actor of its own, that notes what it is told.
private actor Clerk: Delegate {
  private let told: (stream: AsyncStream<String>, continuation: AsyncStream<String>.Continuation)

  init() { told = AsyncStream.makeStream() }

  func answer(_ question: Tribune.Question) -> Tribune.Answer {
    told.continuation.yield("asked \(question.query)")
    return .approve
  }

  func received(_ delivery: Delivery) {
    guard case .notification(let notification) = delivery else { return }
    told.continuation.yield("\(notification.name) \(notification.userInfo)")
  }

  nonisolated func next(_ count: Int) async -> [String] {
    var next: [String] = []
    for await line in told.stream {
      next.append(line)
      if next.count == count { break }
    }
    return next
  }
}
