// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

@MainActor
@Suite("A client with a limit", .timeLimit(.minutes(15)))
struct RoomTests {
  private let bus: SteppedBus
  private let observer: SteppedBus.Client
  private let poster: SteppedBus.Client

  init() throws {
    bus = try SteppedBus(Self.configuration)
    (observer, poster) = (try bus.client(), try bus.client())
  }

  private static var configuration: Configuration {
    var configuration = Configuration()
    configuration.queue.lowMarkBytes = 4_096
    configuration.queue.highMarkBytes = 16_384
    return configuration
  }

  private func post(_ serials: ClosedRange<Serial>, _ name: String = "load.unit") throws {
    try send(serials, name, from: poster)
    try bus.pass(poster)
  }

  private func send(_ serials: ClosedRange<Serial>, _ name: String, from client: SteppedBus.Client) throws {
    let frames = ByteBuffer(capacity: 0)
    for serial in serials { frames.appendFrame(Post(), serial: serial, name: name) }
    try client.send(frames)
  }

  private func grant(_ limit: UInt64, on bus: SteppedBus? = nil) throws {
    try observer.send(Room(limit: limit), serial: 0)
    try (bus ?? self.bus).pass(observer)
  }

  private func observe(_ options: ObserveOptions = [], limit: UInt64?) throws {
    if let limit { try grant(limit) }
    try observer.send(Observe(options: options), serial: 1, name: "load.*")
    try bus.pass(observer)
  }

  private func received() throws -> [String] {
    try observer.frames().map { frame in
      switch frame.kind {
      case .post: "\(frame.serial)"
      case .some(let kind): "\(kind) \(frame.serial)"
      case nil: "?"
      }
    }
  }

  @Test("is sent as many notifications as it has room for, and the others once it has more")
  func waits() throws {
    try observe(limit: 3)
    try post(1...5)
    #expect(try received() == ["ok 1", "1", "2", "3"])
    try post(6...6)
    #expect(try received() == [])
    try grant(5)
    #expect(try received() == ["4", "5"])
    try grant(100)
    #expect(try received() == ["6"])
    try post(7...8)
    #expect(try received() == ["7", "8"])
    #expect(try bus.session(of: observer).output.backlog.isEmpty)
  }

  @Test("is sent everything at once if it never says a limit")
  func unlimited() throws {
    try observe(limit: nil)
    try post(1...200)
    #expect(try received() == ["ok 1"] + (1...200).map { "\($0)" })
  }

  @Test("is sent verdicts and replies although notifications wait")
  func overtaken() throws {
    try observe(limit: 0)
    try post(1...2)
    try observer.send(Ask(), serial: 7, name: "backup.shouldPrune")
    try observer.send(Cancel(target: 99), serial: 8)
    try bus.pass(observer)
    #expect(try received() == ["ok 1", "verdict 7", "error 8"])
    try grant(2)
    #expect(try received() == ["1", "2"])
  }

  @Test("is sent the will of its delegate although notifications wait, and counts it")
  func delegates() throws {
    try observe(limit: 1)
    try observer.send(Attach(patterns: ["load.**"]), serial: 2)
    try bus.pass(observer)
    try post(1...2)
    try post(3...3, "load.willRise")
    #expect(try received() == ["ok 1", "ok 2", "1", "3"])
    try grant(2)
    #expect(try received() == [])
    try grant(3)
    #expect(try received() == ["2"])
  }

  @Test(
    "is gone for awaited posts that wait for room, once none of its observations awaits them",
    arguments: [false, true])
  func abandoned(isAwaitedTwice: Bool) throws {
    try observe(.awaited, limit: 1)
    try observer.send(Observe(options: isAwaitedTwice ? .awaited : []), serial: 2, name: "load.unit")
    try bus.pass(observer)
    for serial in 1...2 as ClosedRange<Serial> {
      try poster.send(Post(options: .awaited), serial: serial, name: "load.unit")
    }
    try bus.pass(poster)
    try observer.send(Cancel(target: 1), serial: 3)
    try bus.pass(observer)
    #expect(try received() == ["ok 1", "ok 2", "1", "ok 3"])
    let gone = try poster.frames(of: .awaited, Awaited.self)
    #expect(gone.flatMap(\.missing).map(\.failure) == (isAwaitedTwice ? [] : [.gone]))
    // It was sent the first post in time.
    let id = try bus.session(of: poster).id
    try observer.send(Done(poster: id, post: 1), serial: 4)
    try bus.pass(observer)
    #expect(try poster.frames(of: .awaited, Awaited.self).map(\.acknowledged) == [1])
  }

  @Test("pauses its posters when much waits, then loses the oldest, with a count")
  func slow() throws {
    try observe(limit: 10)
    try post(1...10)
    _ = try received()
    try post(11...600)
    let (session, posting) = (try bus.session(of: observer), try bus.session(of: poster))
    #expect(session.pacing.isPacing && posting.pacing.isPaused)
    bus.server.sender.drop(from: session, downTo: 4_096)
    #expect(session.pacing.isLossy && !posting.pacing.isPaused)
    #expect(session.output.unreadByteCount <= 4_096 + Lost.frameLength)
    // A `lost` needs no room, and counts.
    try grant(10)
    let lost = try observer.frames(of: .lost, Lost.self).map(\.count)
    #expect(lost.count == 1 && lost[0] > 400)
    try grant(10 + lost.reduce(0, +) + 1_000)
    let rest = try received()
    #expect(UInt64(rest.count) + lost[0] == 590 && rest.last == "600")
    #expect(session.pacing.isFlowing)
  }

  @Test("makes a patient poster wait as long as it takes; other posters lose notifications")
  func patience() throws {
    try observe(limit: 0)
    try poster.send(Pace(limit: .max), serial: 0)
    try post(1...600)
    let (session, posting) = (try bus.session(of: observer), try bus.session(of: poster))
    #expect(session.pacing.isPacing && posting.pacing.isPaused)
    endPatience(with: session)
    #expect(session.pacing.isPacing && posting.pacing.isPaused && session.output.lostCount == 0)

    let other = try bus.client()
    try send(601...605, "load.unit", from: other)
    try bus.pass(other)
    #expect(session.output.lostCount == 5 && posting.pacing.isPaused)
    try grant(1_000)
    #expect(try received() == ["ok 1"] + (1...600).map { "\($0)" } + ["lost 0"])
    #expect(session.pacing.isFlowing && !posting.pacing.isPaused)
  }

  /// The time for which posters wait is over.
  private func endPatience(with session: Session) { wait(for: session, since: Instant(nanoseconds: 0)) }

  private func wait(for session: Session, since: Instant) {
    session.pacing.flow = .flowing
    session.pacing.flow = .pacing(since: since, isOver: false)
    session.pacing.nextCheck = Instant(nanoseconds: 0)
    bus.server.sender.checkPacing(of: session)
  }

  @Test("makes a poster wait for the time that the poster has named, and then loses the oldest")
  func namedTime() throws {
    try observe(limit: 0)
    try poster.send(Pace(limit: 5_000), serial: 0)
    try post(1...600)
    let (session, posting) = (try bus.session(of: observer), try bus.session(of: poster))
    let now = bus.server.context.now.nanoseconds
    wait(for: session, since: Instant(nanoseconds: now - 4_999_999_999))
    #expect(session.pacing.isPacing && posting.pacing.isPaused && session.output.lostCount == 0)
    wait(for: session, since: Instant(nanoseconds: now - 5_000_000_000))
    #expect(session.pacing.isLossy && !posting.pacing.isPaused && session.output.lostCount > 0)
  }

  @Test("pauses no poster as a monitor, not even a patient one, and loses what it does not read")
  func watching() throws {
    try grant(0)
    try observer.send(Monitor(), serial: 1, name: "load.*")
    try bus.pass(observer)
    try poster.send(Pace(limit: .max), serial: 0)
    try post(1...600)
    let (session, posting) = (try bus.session(of: observer), try bus.session(of: poster))
    #expect(session.pacing.isLossy && !posting.pacing.isPaused)
    let lost = try observer.frames(of: .lost, Lost.self).map(\.count)
    #expect(lost.count <= 2 && lost.reduce(0, +) == session.output.lostCount)
    try grant(10_000)
    let rest = try received()
    #expect(
      rest.count == 600 - Int(session.output.lostCount) && rest.count > 100 && Set(rest) == ["traffic 0"])
  }

  @Test("loses nothing of a patient poster because of others, who lose their new notifications")
  func patienceBehindOthers() throws {
    try observe(limit: 0)
    try poster.send(Pace(limit: .max), serial: 0)
    try post(1...100)
    let other = try bus.client()
    try send(101...700, "load.unit", from: other)
    try bus.pass(other)
    let (session, posting) = (try bus.session(of: observer), try bus.session(of: other))
    #expect(posting.pacing.isPaused)
    endPatience(with: session)
    #expect(!posting.pacing.isPaused && session.output.lostCount == 0)
    try send(701...705, "load.unit", from: other)
    try bus.pass(other)
    #expect(session.output.lostCount == 5)
    try grant(1_000)
    #expect(try received() == ["ok 1"] + (1...700).map { "\($0)" } + ["lost 0"])
  }

  /// Makes the observer lossy by the posts of an impatient client.
  private func loseOthers() throws -> (other: SteppedBus.Client, session: Session) {
    try observe(limit: 0)
    let other = try bus.client()
    try send(1...600, "load.unit", from: other)
    try bus.pass(other)
    let session = try bus.session(of: observer)
    endPatience(with: session)
    #expect(session.pacing.isLossy)
    return (other, session)
  }

  @Test(
    "loses nothing of a patient poster that posts when others' notifications are already dropped",
    arguments: [0, 300] as [UInt64])
  func patienceAfterLosses(read: UInt64) throws {
    let (other, session) = try loseOthers()
    try poster.send(Pace(limit: .max), serial: 0)
    try post(601...1_200)
    #expect(try bus.session(of: poster).pacing.isPaused)
    // What was lost takes room.
    try grant(read == 0 ? 0 : session.output.lostCount + read)
    var all = try received()
    try send(1_201...2_000, "load.unit", from: other)
    try bus.pass(other)
    try send(2_001...2_010, "load.unit", from: other)
    try bus.pass(other)
    try grant(10_000)
    all += try received()
    #expect(Set((601...1_200).map { "\($0)" }).isSubset(of: all))
    #expect(session.pacing.isFlowing)
  }

  @Test("which is lossy lets a patient poster wait only while that one has no backlog itself")
  func patienceWithBacklog() throws {
    let (other, session) = try loseOthers()
    try poster.send(Pace(limit: .max), serial: 0)
    try poster.send(Room(limit: 0), serial: 0)
    try poster.send(Observe(), serial: 9, name: "other")
    try post(601...700)
    let posting = try bus.session(of: poster)
    #expect(posting.pacing.isPaused)
    try send(1...1, "other", from: other)
    try bus.pass(other)
    session.pacing.nextCheck = Instant(nanoseconds: 0)
    bus.server.sender.checkPacing(of: session)
    #expect(!posting.pacing.isPaused)
  }

  @Test(
    "makes its posters wait until the end of the longest pause, which a reload may have moved; 0 hangs nothing",
    arguments: [0, 10_000_000_000] as [UInt64])
  func checks(paceMaxNanoseconds: UInt64) throws {
    var configuration = Self.configuration
    configuration.queue.paceMaxNanoseconds = paceMaxNanoseconds
    let bus = try SteppedBus(configuration)
    let (observer, poster) = (try bus.client(), try bus.client())
    try observer.send(Room(limit: 0), serial: 0)
    try observer.send(Observe(), serial: 1, name: "load.*")
    try bus.pass(observer)
    try poster.send(Pace(limit: .max), serial: 0)
    try send(1...600, "load.unit", from: poster)
    try bus.pass(poster)
    let session = try bus.session(of: observer)
    #expect(session.pacing.isPacing)
    session.pacing.nextCheck = Instant(nanoseconds: 0)
    bus.server.sender.checkPacing(of: session)
    #expect(session.pacing.isPacing && session.pacing.pausedPosters.count == 1)
    #expect(try #require(session.pacing.nextCheck) > bus.server.context.now)
  }

  @Test("has the bytes of reports that merge no longer")
  func mergedReports() throws {
    try observe(limit: 0)
    try post(1...20)
    let (session, sender) = (try bus.session(of: observer), bus.server.sender)
    for target in [session.output.byteCount / 2, 0] {
      sender.drop(from: session, downTo: target)
      sender.refill(session)
    }
    #expect(session.output.lostCount == 20)
    #expect(sender.queuedByteCount == session.output.byteCount)
  }

  @Test("is not paused by its own posts, which it may not have read yet")
  func own() throws {
    try observe(limit: 1)
    try send(2...600, "load.unit", from: observer)
    try bus.pass(observer)
    let session = try bus.session(of: observer)
    #expect(session.pacing.isFlowing && session.output.unreadByteCount > 16_384)
    try grant(1_000)
    #expect(try received() == ["ok 1"] + (2...600).map { "\($0)" })
  }

  @Test("is not paused by its own posts either if it is slow because of others'", arguments: [false, true])
  func ownBehindOthers(isLossy: Bool) throws {
    try observer.send(Pace(limit: .max), serial: 0)
    try observe(limit: 0)
    try post(1...600)
    let session = try bus.session(of: observer)
    if isLossy { bus.server.sender.drop(from: session, downTo: 16_384) }
    #expect(isLossy ? session.pacing.isLossy : session.pacing.isPacing)
    try send(601...1_200, "load.unit", from: observer)
    try bus.pass(observer)
    #expect(!session.pacing.isPaused)
    // A `lost` needs no room.
    try grant(0)
    let lost = try observer.frames(of: .lost, Lost.self).map(\.count).reduce(0, +)
    #expect((lost > 0) == isLossy)
    try grant(10_000)
    #expect(try UInt64(received().count) + lost == 1_200)
    #expect(session.pacing.isFlowing)
  }

  @Test("gets retained notifications as it has room, and later ones behind them")
  func snapshot() throws {
    for number in 1...9 {
      let frame = ByteBuffer(capacity: 256)
      frame.appendFrame(
        Post(options: .retain), serial: Serial(number), name: "load.unit", object: "o/\(number)", text: "1")
      try poster.send(frame)
    }
    try bus.pass(poster)
    try observe(.retained, limit: 2)
    try bus.pass()
    #expect(try received() == ["ok 1", "retained 1", "retained 1"])
    try post(10...10)
    try grant(8)
    try bus.pass()
    #expect(try received() == [String](repeating: "retained 1", count: 6))
    try grant(100)
    try bus.pass()
    #expect(try received() == ["retained 1", "10"])
    let session = try bus.session(of: observer)
    #expect(session.output.backlog.isEmpty && session.output.chargedByteCount == 0)
  }

  @Test("is sent what waits for room when the bus stops, and then why")
  func stop() throws {
    try observe(limit: 1)
    try post(1...4)
    bus.beginIteration()
    bus.server.stop(graceNanoseconds: .max)
    bus.endIteration()
    #expect(try received() == ["ok 1", "1", "2", "3", "4", "error 0"])
  }

  @Test("has no room after a take-over, is asked for its limit, and loses only what it is told of")
  func takeOver() throws {
    try observe(limit: 2)
    // A connection without a registration is not kept.
    try poster.send(Observe(), serial: 9, name: "other")
    try post(1...5)
    _ = try received()
    let successor = try bus.successor()
    #expect(try observer.frames(of: .lost, Lost.self).map(\.count) == [3])
    try poster.send(Post(), serial: 6, name: "load.unit")
    try successor.pass(poster)
    #expect(try received() == [])
    try grant(6, on: successor)
    #expect(try received() == ["6"])
  }

  private func retain() throws {
    let retained = ByteBuffer(capacity: 256)
    retained.appendFrame(Post(options: .retain), serial: 1, name: "load.unit", object: "", text: "1")
    try poster.send(retained)
    try bus.pass(poster)
  }

  @Test(
    "has the poster of a notification that waits introduced apart, because its slot can be reused meanwhile")
  func waitingPoster() throws {
    try observe(limit: 1)
    try bus.session(of: observer).output.wantPosters()
    try post(1...1)
    #expect(try observer.frames(of: .poster, PosterFacts.self).map(\.slot) != [PosterFacts.waitingSlot])
    try post(2...3)
    try grant(10)
    #expect(try observer.frames(of: .poster, PosterFacts.self).map(\.slot) == [PosterFacts.waitingSlot])
  }

  @Test("is sent its snapshot before later notifications, although it monitors what introduces the poster")
  func monitor() throws {
    try bus.session(of: observer).output.wantPosters()
    try retain()
    try observer.send(Monitor(), serial: 9, name: "")
    try observe(.retained, limit: 0)
    try post(5...5)
    try grant(100)
    while bus.server.hasWork { try bus.pass() }
    #expect(try received().filter { $0 == "5" || $0 == "retained 1" } == ["retained 1", "5"])
  }

  @Test("has the poster introduced again for each snapshot, after a hand-over")
  func introductions() throws {
    let other = try bus.client()
    try bus.session(of: observer).output.wantPosters()
    try retain()
    try observe(.retained, limit: 0)
    try send(5...5, "load.unit", from: other)
    try bus.pass(other)
    try observer.send(Observe(options: .retained), serial: 2, name: "load.*")
    try bus.pass(observer)
    try bus.server.handOver()
    let successor = try bus.successor()
    try grant(100, on: successor)
    let all = try received()
    #expect(
      all == [
        "ok 1", "ok 2", "poster 0", "room 0", "retained 1", "poster 0", "5", "poster 0", "retained 2",
      ])
  }
}
