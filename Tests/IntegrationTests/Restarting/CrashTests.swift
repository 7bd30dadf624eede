// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneSystem
import TribuneWire

/// What is under way when the bus dies: who is in the middle of something has to connect again, and everybody is
/// told what is lost.
@Suite("Crashes", .timeLimit(.minutes(2)))
struct CrashTests {
  private let bus: RestartedBus

  init() throws { bus = try RestartedBus() }

  @Test("who was sending a frame is told to connect again, and what it had registered stays until it has")
  func restarted() throws {
    let (client, welcome) = try RawClient.welcomed(bus)
    try client.observe("load.*", serial: 1)
    try client.send(Hold(), serial: 2, name: "host.shouldReboot", text: "backup")
    _ = try client.next(.ok)
    let other = try RawClient.greeted(bus)
    try other.send(Post(), serial: 1, flags: .acknowledge, name: "load.unit")
    _ = try other.next(.ok)
    #expect(try client.next().name == "load.unit")
    try client.send([1, 2, 3])
    try RawClient.greeted(bus).settle()
    try bus.crash()
    #expect(try client.nextError() == .restarted)
    #expect(try client.readToEnd().isEmpty)

    try other.send(Ask(), serial: 2, name: "host.shouldReboot")
    #expect(try other.nextVerdict().verdict == .vetoed)
    for serial in Serial(3)...5 { try other.send(Post(), serial: serial, name: "load.unit") }
    try other.settle()
    let successor = try RawClient.greeted(bus)
    try successor.observe("load.*", serial: 1)
    try successor.send(Succeed(predecessor: welcome.connection, received: 1), serial: 2)
    #expect(try successor.next().decode(Lost.self).count == 3)
    #expect(try successor.next().kind == .ok)
    try other.send(Ask(), serial: 6, name: "host.shouldReboot")
    #expect(try other.nextVerdict().verdict == .allowed)
    try other.send(Post(), serial: 7, name: "load.unit")
    #expect(try successor.next().header.serial == 7)
    try successor.send(Succeed(predecessor: welcome.connection, received: 1), serial: 3)
    #expect(try successor.nextError() == .notFound)
  }

  @Test(
    "what somebody had registered who has to connect again outlives the next restart as well",
    arguments: [SIGKILL, SIGTERM])
  func restartedTwice(signal: CInt) throws {
    let (client, welcome) = try RawClient.welcomed(bus)
    try client.observe("load.*", serial: 1)
    try client.send(Hold(), serial: 2, name: "host.shouldReboot", text: "backup")
    _ = try client.next(.ok)
    let other = try RawClient.greeted(bus)
    try client.send([1, 2, 3])
    try bus.crash()
    #expect(try client.nextError() == .restarted)
    for serial in Serial(1)...3 {
      try other.send(Post(), serial: serial, name: "load.unit")
      try other.settle()
      // What it was told has been noted as well.
      try RawClient.greeted(bus).settle()
      try bus.end(signal)
      try bus.start()
    }
    try other.send(Ask(), serial: 4, name: "host.shouldReboot")
    #expect(try other.nextVerdict().verdict == .vetoed)
    let successor = try RawClient.greeted(bus)
    try successor.observe("load.*", serial: 1)
    try successor.send(Succeed(predecessor: welcome.connection, received: 0), serial: 2)
    #expect(try successor.next().decode(Lost.self).count == 3)
    #expect(try successor.next().kind == .ok)
    try other.send(Ask(), serial: 5, name: "host.shouldReboot")
    #expect(try other.nextVerdict().verdict == .allowed)
  }

  @Test("who does not connect again is gone when its time is over, however often the bus is restarted")
  func neverBack() throws {
    let client = try RawClient.greeted(bus)
    try client.send(Hold(), serial: 1, name: "host.shouldReboot", text: "backup")
    _ = try client.next(.ok)
    let other = try RawClient.greeted(bus)
    try client.send([1, 2, 3])
    try bus.crash()
    #expect(try client.nextError() == .restarted)
    var verdict = VerdictKind.vetoed
    var rounds = 0
    while verdict == .vetoed {
      // No restart takes so little that this would be its five seconds.
      rounds += 1
      try #require(rounds < 2000)
      try other.send(Ask(), serial: 1, name: "host.shouldReboot")
      verdict = try other.nextVerdict().verdict
      // What it was told has been noted as well.
      try RawClient.greeted(bus).settle()
      try bus.end(SIGKILL)
      try bus.start()
    }
    #expect(verdict == .allowed)
  }

  @Test("what somebody has been asked, the next daemon knows")
  func asked() throws {
    // The second question that one connection is asked has no room beside the first.
    let marks = "[Bus]\nPayloadMax=64K\n[Queue]\nHighMark=64K\nLowMark=32K\nHardLimit=64K\n"
    let bus = try RestartedBus(configuration: marks)
    let first = try RawClient.greeted(bus)
    for serial in Serial(1)...2 {
      try first.attach(Attach(label: "\(serial)", patterns: ["load.*"]), serial: serial)
    }
    // To queue what these are asked takes longer than to kill the bus.
    let others = try (0..<300).map { _ in try RawClient.greeted(bus) }
    for other in others { try other.attach(Attach(order: 1, patterns: ["load.*"]), serial: 1) }
    let asker = try RawClient.greeted(bus)
    try asker.settle()
    try bus.command("await c \(others.count + 2)")
    try asker.send(
      Ask(mode: .all), serial: 1, name: "load.shouldStop", text: String(repeating: "x", count: 40_000))
    try first.read(atMost: 1)
    kill(bus.pid, SIGKILL)
    #expect(try bus.command("wait") == ["ended", "-9"])
    let question = try first.nextQuestion().question
    try bus.start()
    let next = try RawClient.greeted(bus)
    try next.send(Ask(), serial: 1, name: "bus.shouldStop")
    #expect(try next.nextVerdict().query > question.query)
  }

  @Test("a verdict that was due when somebody posted is not given once more")
  func verdictOnce() throws {
    for _ in 0..<3 {
      let bus = try RestartedBus()
      let (delegate, asker) = (try RawClient.greeted(bus), try RawClient.greeted(bus))
      try delegate.attach(Attach(timeout: 50, patterns: ["load.*"]), serial: 1)
      let others = try (0..<20).map { _ in try RawClient.greeted(bus) }
      try bus.command("await c \(others.count + 2)")
      try asker.send(Ask(), serial: 1, name: "load.shouldStop")
      _ = try delegate.nextQuestion()
      // The bus has no time to look at its clock for anything else.
      try occupy(others, Post(options: .retain))
      #expect(try asker.nextVerdict().outcomes.map(\.outcome) == [.timedOut])
      kill(bus.pid, SIGKILL)
      #expect(try bus.command("wait") == ["ended", "-9"])
      try withExtendedLifetime(others) { try bus.start() }
      _ = try goesOn { try asker.expectSilence() }
    }
  }

  @Test(
    "a post that waits for a better moment is delivered by the next daemon, or its poster has to connect again",
    arguments: [PostingStyle.asSoonAsPossible, .whenIdle])
  func waitingPosts(style: PostingStyle) throws {
    for _ in 0..<5 {
      let bus = try RestartedBus()
      let observer = try RawClient.greeted(bus)
      try observer.observe("wait.*", serial: 1)
      let poster = try RawClient.greeted(bus)
      let others = try occupy(bus, besides: 2)
      try poster.send(
        Post(options: .retain, style: style), serial: 7, flags: .acknowledge, name: "wait.over", text: "{}")
      if style == .whenIdle { _ = try poster.next(.ok) }
      kill(bus.pid, SIGKILL)
      #expect(try bus.command("wait") == ["ended", "-9"])
      try withExtendedLifetime(others) { try bus.start() }
      try RawClient.greeted(bus).send(Post(), serial: 1, name: "wait.ends")
      let isThere = try goesOn { try poster.settle() }
      guard style == .whenIdle || isThere else { continue }
      var (received, lost) = (0, 0)
      try observer.count(to: 2, &received, &lost)
      #expect(try RawClient.greeted(bus).list(List(.retained)).count == 1)
      try observer.expectSilence()
    }
  }

  @Test("who had not been greeted is greeted first by the next daemon")
  func greeting() throws {
    for _ in 0..<3 {
      let bus = try RestartedBus()
      let others = try (0..<20).map { _ in try RawClient.greeted(bus) }
      let clients = try (0..<10).map { _ in try RawClient(path: bus.path) }
      try bus.command("await c \(others.count)")
      while try others[0].busEntry().connections < others.count + clients.count {}
      // Those who say hello are read first of all.
      kill(bus.pid, SIGSTOP)
      for client in clients {
        try client.send {
          Hello().append(to: $0)
          $0.appendFrame(Observe(), serial: 1, name: "load.**")
        }
      }
      try occupy(others, Post())
      kill(bus.pid, SIGCONT)
      // They are kept at once, and greeted when all others have been read as well.
      try bus.command("await c \(others.count + clients.count)")
      kill(bus.pid, SIGKILL)
      #expect(try bus.command("wait") == ["ended", "-9"])
      try withExtendedLifetime(others) { try bus.start() }
      for client in clients {
        do {
          _ = try client.readHello()
          let first = try client.next().kind
          #expect(first == .welcome || first == .error)
        } catch is RawClient.Ended {
        }
      }
    }
  }

  /// Has names that are new to it keep the bus busy.
  ///
  /// - Parameter count: other clients that are connected.
  private func occupy(_ bus: RestartedBus, besides count: Int) throws -> [RawClient] {
    let clients = try (0..<20).map { _ in try RawClient.greeted(bus) }
    try bus.command("await c \(clients.count + count)")
    try occupy(clients, Post())
    return clients
  }

  private func occupy(_ clients: [RawClient], _ post: Post) throws {
    let load = ByteBuffer(capacity: 1 << 18)
    for number in 0..<4000 { load.appendFrame(post, serial: 1, name: "load.unit\(number)", text: "{}") }
    for client in clients { _ = try client.sendWithoutWaiting([UInt8](load.bytes)) }
  }

  /// Whether a client that does something has not to connect again.
  private func goesOn(_ body: () throws -> Void) throws -> Bool {
    do {
      try body()
      return true
    } catch is RawClient.Ended {
      return false
    } catch let error as Errno where error.isDisconnection {
      return false
    }
  }

  @Test("nobody succeeds a connection that is there")
  func noSuccession() throws {
    let (client, welcome) = try RawClient.welcomed(bus)
    let other = try RawClient.greeted(bus)
    for (serial, id) in [
      (1, welcome.connection), (2, ConnectionID(rawValue: 99)), (3, ConnectionID(rawValue: 0)),
    ] {
      try other.send(Succeed(predecessor: id, received: 0), serial: Serial(serial))
      #expect(try other.nextError() == .notFound)
    }
    try client.settle()
  }

  @Test("what had been queued is told as lost, and what must not be lost is sent")
  func queues() throws {
    let observer = try RawClient.greeted(bus)
    try observer.observe("load.*", serial: 1)
    let poster = try RawClient.greeted(bus)
    let payload = String(repeating: "x", count: 1000)
    let posted = 1000
    for serial in 1...posted {
      try poster.send(Post(), serial: Serial(serial), name: "load.unit", text: payload)
    }
    try poster.settle()
    try bus.crash()
    try poster.settle()
    var (received, lost) = (0, 0)
    // It stands in the middle of a frame, or at the end of one.
    do {
      try observer.count(to: posted, &received, &lost)
      #expect(received + lost == posted)
    } catch is RawClient.Ended {
      #expect(received < posted)
    }
  }

  @Test("what must not be lost and waits is still known when the log has been swept, several times")
  func sweptReplies() throws {
    let bus = try RestartedBus(configuration: "[Queue]\nHardLimit=4M\n")
    let observer = try RawClient(path: bus.path)
    try observer.greet(capabilities: .descriptors)
    try observer.observe("a.*", serial: 1)
    let poster = try RawClient.greeted(bus)
    let watcher = try RawClient.greeted(bus)
    try watcher.observeMilestones(serial: 1)
    // It takes no file, so that the last one waits, and what is said behind it.
    let length = 500_000
    for serial in Serial(1)...9 {
      let file = try SharedFile.make(SharedFile.bytes(length))
      try poster.post("a.b", file: file, length: length, serial: serial, flags: .acknowledge)
      _ = try poster.next(.ok)
    }
    for serial in Serial(2)...4 { try observer.send(Observe(), serial: serial, name: "c.d") }
    try observer.passMilestone()
    try watcher.awaitMilestone()
    for serial in Serial(1)..<40_000 {
      try poster.send(Post(), serial: serial, flags: .acknowledge, name: "load.unit")
      if serial % 500 == 0 { try poster.settle() }
    }
    try poster.settle()
    try bus.crash()
    for serial in Serial(1)...8 {
      #expect(try observer.next(.post).header.serial == serial)
    }
    #expect(try observer.next(.lost).decode(Lost.self).count == 1)
    for serial in Serial(2)...4 { #expect(try observer.next(.ok).header.serial == serial) }
    try observer.expectSilence()
  }

  @Test("notifications that were held are told as lost")
  func held() throws {
    let observer = try RawClient.greeted(bus)
    try observer.send(Observe(suspension: .hold), serial: 1, name: "load.*")
    _ = try observer.next(.ok)
    try observer.send(Suspend(isSuspended: true), serial: 2)
    _ = try observer.next(.ok)
    let poster = try RawClient.greeted(bus)
    for serial in 1...3 { try poster.send(Post(), serial: Serial(serial), name: "load.unit") }
    try poster.settle()
    try bus.crash()
    #expect(try observer.next().decode(Lost.self).count == 3)
    try poster.send(Post(), serial: 4, name: "load.unit")
    try poster.settle()
    try observer.send(Suspend(isSuspended: false), serial: 3)
    #expect(try observer.next().header.serial == 4)
    #expect(try observer.next().kind == .ok)
  }

  @Test("a store that is full does not keep anybody from the bus, and the list says who does not survive")
  func fullStore() throws {
    // Two places are left for what a hand-over stores.
    let bus = try RestartedBus(room: 5)
    let clients = try (0..<4).map { _ in try RawClient.greeted(bus) }
    for client in clients { try client.observe("load.*", serial: 1) }
    let listed = try clients[3].list(List(.connections)).compactMap { entry in
      if case .connection(let connection) = entry { connection.isSurviving } else { nil as Bool? }
    }
    #expect(listed == [true, true, false, false])
    try bus.command("await c 2")
    #expect(try bus.stored() == ["state": 1, "c": 2])
    try bus.end(SIGKILL)
    try bus.start()
    for client in clients[..<2] { try client.settle() }
    for client in clients[2...] { #expect(try client.readToEnd().isEmpty) }
  }

  @Test("a bus that has been restarted often keeps no more than it has")
  func memory() throws {
    let client = try RawClient.greeted(bus)
    for serial in 1...100 {
      try client.observe("load.n\(serial)", serial: Serial(serial))
      if serial % 10 == 0 { try serial % 20 == 0 ? bus.crash() : bus.restart() }
    }
    let stored = try bus.stored()
    #expect(stored == ["state": 1, "c": 1])
  }
}
