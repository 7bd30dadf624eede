// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore

@Suite("A restored bus", .timeLimit(.minutes(15)))
struct RestoringTests {
  let bus = BusUnderTest()
  let asker: ConnectionSlot
  let delegate: ConnectionSlot

  init() { (asker, delegate) = (bus.connect(), bus.connect()) }

  @Test("A delegate that has not returned is gone in its queries", arguments: QueryMode.allCases)
  func strays(mode: QueryMode) throws {
    let lasting = bus.connect()
    bus.attach(["x", "shouldX"], by: delegate, serial: 1, order: 0, policy: .abstain, label: "stray")
    bus.attach(["x", "shouldX"], by: lasting, serial: 1, order: 1)
    bus.ask(mode.name, by: asker, serial: 1, mode: mode)
    let other = BusUnderTest()
    for _ in 0..<3 { other.connect() }
    other.attach(["c"], by: lasting, serial: 9)
    other.bus.setLast(query: 0, delegate: 1)
    other.attach(["x", "shouldX"], by: lasting, serial: 1, order: 1)
    try bus.bus.forEachUnderWay { (what, asker, fields) throws(WireError) in
      #expect(what == .query && asker.rawValue == 1)
      try other.bus.restoreQuery(fields.bytes, at: other.now)
    }
    other.bus.dropEffects()
    _ = other.take()
    other.answer(.approve, delegate: 1, from: delegate)
    other.expect("B refused 900 notAsked")
    other.bus.finishRestoring(at: other.now)
    other.takeEffects()
    #expect(other.take() == (mode.isSequential ? ["C question 1 q1 d2 5000ms \(mode.name)"] : []))
    other.answer(mode.isForValues ? .value : .approve, "v", delegate: 2, from: lasting)
    let answer = mode.isForValues ? "answered (v)" : "approved (v)"
    other.expect("A verdict 1 q1 allowed: d1 gone, d2 \(answer)", "C concluded 1 q1 d2 allowed")
    other.ask("shouldX", by: asker, serial: 2)
    #expect(other.takeQuestions().map(\.question.query.rawValue).last == 2)
  }

  @Test("A replayed frame has what it once took from the configuration, and keeps no more than it did")
  func underOtherLimits() {
    let bus = BusUnderTest {
      $0.delegateTimeout = 300
      $0.answersMax = 10
    }
    bus.log = []
    let (asker, one, other) = (bus.connect(), bus.connectDelegate("shouldX"), bus.connectDelegate("shouldX"))
    bus.ask("shouldX", by: asker, serial: 1, mode: .all)
    bus.answer(.veto, "for a reason of many words", delegate: 1, from: one)
    _ = bus.take()
    bus.bus.limits.delegateTimeout = 900
    bus.bus.limits.answersMax = 1 << 20
    bus.restart(.replay)
    bus.answer(.veto, "late", delegate: 2, from: other)
    let reasons = bus.lastVerdict?.outcomes.map(\.reason)
    #expect(reasons == ["the limit on the answers to one asker is reached", "late"])
    _ = bus.take()
    bus.ask("shouldX", by: asker, serial: 2)
    #expect(bus.take() == ["B question 1 q2 d1 300ms shouldX", "C question 1 q2 d2 300ms shouldX"])
  }

  @Test("A query is not restored twice, or without its asker")
  func refusedQueries() throws {
    bus.attach(["shouldA"], by: delegate, serial: 1)
    bus.ask("shouldA", by: asker, serial: 1)
    let fields = ByteBuffer { bus.appendUnderWay(to: $0) }
    let now = bus.now
    #expect(
      refusal { () throws(WireError) in try bus.bus.restoreQuery(fields.bytes, at: now) } == .duplicateSerial)
    bus.cancel(1, by: asker)
    #expect(refusal { () throws(WireError) in try bus.bus.restoreQuery(fields.bytes, at: now) } == nil)
    #expect(bus.queryCount == 1)
    bus.disconnect(asker)
    #expect(refusal { () throws(WireError) in try bus.bus.restoreQuery(fields.bytes, at: now) } == .notFound)
    #expect(bus.queryCount == 0)
  }

  @Test("A restored deadline is at most the longest deadline from now")
  func deadlines() throws {
    bus.attach(["shouldA"], by: delegate, serial: 1, timeout: 3_000_000)
    bus.ask("shouldA", by: asker, serial: 1, deadline: 3_000_000)
    let other = BusUnderTest()
    other.bus.limits.deadlineMax = 1000
    for _ in 0..<2 { other.connect() }
    other.attach(["shouldA"], by: delegate, serial: 1)
    let now = other.now
    try bus.bus.forEachUnderWay { (_, _, fields) throws(WireError) in
      try other.bus.restoreQuery(fields.bytes, at: now)
    }
    _ = other.take()
    other.expectNothing(forMilliseconds: 1000)
    #expect(other.take().first == "A verdict 1 q1 vetoed: d1 timedOut")
  }

  @Test("An observer that has not returned is gone for the poster")
  func awaitedStrays() throws {
    let second = bus.connect()
    for slot in [delegate, second] { bus.observe("a", by: slot, serial: 1, .awaited) }
    bus.post("a", text: "x", by: asker, serial: 5, .awaited)
    bus.done(5, of: 1, by: second, failed: "no")
    for isBack in [false, true] {
      let other = BusUnderTest()
      for _ in 0..<(isBack ? 3 : 1) { other.connect() }
      let now = other.now
      try bus.bus.forEachUnderWay { (what, poster, fields) throws(WireError) in
        #expect(what == .awaitedPost && poster.rawValue == 1)
        try other.bus.restoreAwaitedPost(fields.bytes, at: now)
        #expect(
          refusal { () throws(WireError) in try other.bus.restoreAwaitedPost(fields.bytes, at: now) }
            == .duplicateSerial)
      }
      other.bus.finishRestoring(at: now)
      other.takeEffects()
      if isBack {
        #expect(other.take() == [])
        other.done(5, of: 1, by: delegate)
        other.expect("A awaited 5 1, :3 failed (no) 0 ms")
      } else {
        other.expect("A awaited 5 0, :2 gone 0 ms, :3 failed (no) 0 ms")
      }
      other.disconnect(asker)
    }
  }

  @Test("A post that waits to be retained is charged until it is delivered or replaced")
  func waitingRoom() throws {
    let other = BusUnderTest()
    let poster = other.connect()
    tell(other)
    // Each post replaces the last. Together they exceed the user's limit.
    let text = String(repeating: "x", count: bus.bus.limits.totals[.retained] / 20)
    for _ in 0..<20 { bus.post("a", text: text, by: asker, [.retain, .coalesceByName], style: .whenIdle) }
    bus.idle()
    other.post("b", text: "1", by: poster, .retain)
    #expect(other.bus.allRetained().map(\.name) == ["b"])
  }

  private func tell(_ other: BusUnderTest) {
    bus.onKept = { [now = bus.now] effect in
      do throws(WireError) {
        switch effect {
        case .waiting(let slice, let number, let poster, let uid):
          try other.bus.restoreWaiting(slice.bytes, number: number, from: poster, uid: uid, at: now)
        case .noLongerWaiting(let number): other.bus.forgetWaiting(number: number)
        default: break
        }
      } catch {
        Issue.record("\(error.message)")
      }
    }
  }

  private static func posters(_ bus: BusUnderTest) -> [PeerIdentity] {
    var posters: [PeerIdentity] = []
    bus.onEffect = { effect in
      if case .snapshot(_, _, let notifications) = effect { posters += notifications.map(\.peer) }
    }
    bus.observe("**", by: bus.connect(), serial: 1, .retained)
    return posters
  }

  @Test("Retained notifications keep the process that posted them")
  func retainedPoster() throws {
    let poster = bus.connect(pid: 4242, uid: 34, units: PeerUnits(system: "restore.service"))
    let peer = PeerIdentity(
      pid: 4242, uid: 34, gid: 1000, process: "test", units: PeerUnits(system: "restore.service"))
    bus.post("a", text: "1", by: poster, .retain)
    bus.disconnect(poster)
    #expect(Self.posters(bus) == [peer])
    let kept = try #require(bus.bus.allRetained().first)
    let fields = ByteBuffer { kept.append(to: $0) }
    let other = BusUnderTest()
    try other.bus.restoreRetained(fields.bytes, attachment: nil)
    #expect(Self.posters(other) == [peer])
  }

  @Test(
    "A post that waits to be retained keeps its process if that still runs", arguments: [true, false])
  func waitingPoster(isThere: Bool) {
    let other = BusUnderTest()
    tell(other)
    if isThere { other.connect(pid: 7, uid: 1000) }
    bus.post("a", text: "1", by: asker, .retain, style: .whenIdle)
    other.idle()
    let peer = PeerIdentity(
      pid: 7, uid: 1000, gid: 1000, process: "test", units: PeerUnits(system: "test.service"))
    #expect(Self.posters(other) == [isThere ? peer : .gone(of: 1000)])
  }

  @Test("Retained notifications keep their sender, and can exceed the limits")
  func retained() throws {
    for name in ["a", "b"] { bus.post(name, object: "o", text: name, by: asker, .retain) }
    bus.post("c", text: "new", by: asker, .retain)
    let other = BusUnderTest { $0.totals[.retained] = 1_280 }
    let observer = other.connect()
    for kept in bus.bus.allRetained() {
      let fields = ByteBuffer { kept.append(to: $0) }
      try other.bus.restoreRetained(fields.bytes, attachment: nil)
    }
    other.bus.forgetRetained(name: "b", object: "o")
    other.bus.forgetRetained(name: "b", object: "p")
    #expect(other.isRetained("a", "o", of: 1, at: bus.now))
    #expect(!other.isRetained("b", "o", of: 1, at: bus.now))
    #expect(!other.isRetained("a", "o", of: 2, at: bus.now))
    other.observe("*", by: observer, serial: 1, .retained)
    other.expect("A ok 1 as 1", "A snapshot 1, a o a from :1 at 1000 ms, c new from :1 at 1000 ms")
    other.post("d", text: "x", by: observer, serial: 2, .retain)
    other.expect("A refused 2 limitExceeded")
    for name in ["a", "c"] { other.post(name, object: name == "a" ? "o" : "", by: observer, .retain) }
    other.post("d", text: "x", by: observer, serial: 3, .retain, flags: .acknowledge)
    #expect(other.take().last == "A ok 3")
  }

  @Test("Files are restored with their notifications, and neither without the other")
  func files() throws {
    let observer = bus.connect()
    bus.observe("a.*", by: observer, serial: 1, suspension: .hold)
    bus.suspend(by: observer)
    for number in 1...3 {
      let file = number == 2 ? nil : MadeFile(length: 70_000 + number)
      let frame = ByteBuffer(capacity: 0, attachment: file)
      frame.appendFrame(
        Post(options: .retain, length: UInt32(file?.length ?? 0)), serial: 7, name: "a.f\(number)",
        text: file == nil ? "x" : "")
      #expect(bus.send(frame, from: asker) == nil)
    }
    #expect(bus.bufferedCount(of: observer) == 3)
    let other = BusUnderTest()
    for _ in 0..<3 { other.connect() }
    other.observe("a.*", by: observer, serial: 1, suspension: .hold)
    other.suspend(by: observer)
    let fields = ByteBuffer(capacity: 0)
    let files = bus.bus.appendBuffered(of: observer, to: fields)
    #expect(files.map(\.length) == [70_001, 70_003])
    for wrong in [[], [files[0]], files + files] {
      #expect(
        refusal { () throws(WireError) in
          try other.bus.restoreBuffered(fields.bytes, attachments: wrong, for: observer)
        } != nil)
    }
    #expect(
      refusal { () throws(WireError) in
        try other.bus.restoreBuffered(fields.bytes, attachments: files, for: asker)
      } == .notFound)
    #expect(other.bufferedCount(of: observer) == 0)
    try other.bus.restoreBuffered(fields.bytes, attachments: files, for: observer)
    #expect(other.bufferedCount(of: observer) == 3)
    #expect(other.bus.bufferedByteCount(at: observer) == bus.bus.bufferedByteCount(at: observer))
    for kept in bus.bus.allRetained() {
      let fields = ByteBuffer { kept.append(to: $0) }
      let wrong = kept.attachment == nil ? MadeFile(length: 70_000) : nil
      #expect(
        refusal { () throws(WireError) in try other.bus.restoreRetained(fields.bytes, attachment: wrong) }
          == .missingDescriptor)
      try other.bus.restoreRetained(fields.bytes, attachment: kept.attachment)
    }
  }
}

final class MadeFile: AttachedFile {
  let length: Int
  let rawDescriptor: Int32 = -1

  init(length: Int) { self.length = length }
}
