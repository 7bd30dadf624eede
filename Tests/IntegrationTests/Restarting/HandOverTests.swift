// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneSystem
import TribuneWire

/// What is under way when the bus is restarted as planned: nothing of it is lost.
@Suite("Handing over", .timeLimit(.minutes(2)))
struct HandOverTests {
  private let bus: RestartedBus

  init() throws { bus = try RestartedBus() }

  @Test("what waits to be read is read after it, in order and whole, half a frame included")
  func queues() throws {
    let observer = try RawClient.greeted(bus)
    try observer.observe("load.*", serial: 1)
    let poster = try RawClient.greeted(bus)
    // More than the kernel takes for the observer, less than the high mark on top of that.
    let payload = String(repeating: "x", count: 1000)
    for serial in 1...1000 {
      try poster.send(Post(), serial: Serial(serial), name: "load.unit", text: "\(serial) \(payload)")
    }
    try poster.settle()
    for round in 0..<3 {
      try bus.restart()
      for serial in 1...100 { #expect(try observer.next().header.serial == Serial(round * 100 + serial)) }
    }
    for serial in 301...1000 { #expect(try observer.next().payload == "\(serial) \(payload)") }
    try observer.settle()
  }

  @Test(
    "a frame that has come in part goes on, wherever it was cut",
    arguments: [1, 20, 33, 700, 40_000, 100_000])
  func begunFrames(_ cut: Int) throws {
    let observer = try RawClient.greeted(bus)
    try observer.observe("load.*", serial: 1)
    let poster = try RawClient.greeted(bus)
    let frame = ByteBuffer(capacity: 200_000)
    let payload = String(repeating: "y", count: 120_000)
    frame.appendFrame(Post(), serial: 1, name: "load.unit", text: payload)
    let bytes = [UInt8](frame.bytes)
    try poster.send(Array(bytes[..<cut]))
    // It has been read when somebody who came later has been served.
    try RawClient.greeted(bus).settle()
    try bus.restart()
    try poster.send(Array(bytes[cut...]))
    #expect(try observer.next().payload == payload)
    try poster.settle()
  }

  @Test("a slow observer that has lost notifications is still told how many")
  func lossy() throws {
    let bus = try RestartedBus(configuration: "[Queue]\nHighMark=64K\nLowMark=16K\nPaceMaxSec=1ms\n")
    let observer = try RawClient.greeted(bus)
    try observer.observe("load.*", serial: 1)
    let poster = try RawClient.greeted(bus)
    let payload = String(repeating: "x", count: 1000)
    let posted = 3000
    for serial in 1...posted {
      try poster.send(Post(), serial: Serial(serial), name: "load.unit", text: payload)
    }
    try poster.settle()
    try bus.restart()
    var (received, lost) = (0, 0)
    try observer.count(to: posted, &received, &lost)
    #expect(received + lost == posted)
    #expect(lost > 0)
    try observer.settle()
  }

  @Test("files that wait, and the one that is retained, arrive after it")
  func files() throws {
    let observer = try RawClient(path: bus.path)
    try observer.greet(capabilities: .descriptors)
    try observer.observe("load.*", serial: 1)
    let poster = try RawClient.greeted(bus)
    // So much that the file behind it waits in the bus.
    let payload = String(repeating: "x", count: 1000)
    for serial in 1...600 {
      try poster.send(Post(), serial: Serial(serial), name: "load.unit", text: payload)
    }
    let contents = [UInt8](repeating: 7, count: 100_000)
    let file = try SharedFile.make(contents)
    try poster.post(
      "load.file", options: .retain, file: file, length: contents.count, serial: 601, flags: .acknowledge)
    _ = try poster.next(.ok)
    for _ in 0..<2 { try bus.restart() }
    for serial in 1...600 { #expect(try observer.next().header.serial == Serial(serial)) }
    #expect(try observer.next().name == "load.file")
    #expect(try observer.takeFile(length: contents.count).length == contents.count)
    let late = try RawClient.greeted(bus)
    try late.send(Observe(options: .retained), serial: 1, name: "load.*")
    #expect(try late.next(.retained).payloadBytes == contents)
  }

  @Test(
    "a descriptor that waits for its frame and is no file in memory is refused with it, as without a restart",
    arguments: ["/proc/self/exe", "/dev/null"])
  func unusableDescriptor(path: String) throws {
    let poster = try RawClient.greeted(bus)
    let bytes = RawClient.post("load.file", length: 100_000, serial: 7)
    let file = FileDescriptor(owning: try retrying { unsafe open(path, O_RDONLY | O_CLOEXEC) })
    try poster.send(Array(bytes[..<20]), with: [file.rawValue])
    try RawClient.greeted(bus).settle()
    try bus.restart()
    try poster.send(Array(bytes[20...]))
    #expect(try poster.nextError() == .invalidDescriptor)
    try poster.settle()
  }

  @Test("what is held for a suspended connection is delivered when it resumes")
  func held() throws {
    let observer = try RawClient.greeted(bus)
    try observer.send(Observe(suspension: .hold), serial: 1, name: "load.*")
    _ = try observer.next(.ok)
    try observer.send(Suspend(isSuspended: true), serial: 2)
    _ = try observer.next(.ok)
    let poster = try RawClient.greeted(bus)
    for serial in 1...3 {
      try poster.send(Post(), serial: Serial(serial), name: "load.unit", text: "\(serial)")
    }
    try poster.settle()
    for _ in 0..<2 { try bus.restart() }
    try poster.send(Post(), serial: 4, name: "load.unit", text: "4")
    try poster.settle()
    try observer.send(Suspend(isSuspended: false), serial: 3)
    for number in 1...4 { #expect(try observer.next().payload == "\(number)") }
    #expect(try observer.next().kind == .ok)
  }

  @Test("a post that waits for the bus to be idle is delivered before")
  func idlePost() throws {
    let observer = try RawClient.greeted(bus)
    try observer.observe("load.*", serial: 1)
    let poster = try RawClient.greeted(bus)
    try poster.send(Post(style: .whenIdle), serial: 1, flags: .acknowledge, name: "load.unit", text: "x")
    _ = try poster.next(.ok)
    try bus.restart()
    #expect(try observer.next().payload == "x")
  }

  @Test("a poster that waits for its observers is answered")
  func awaited() throws {
    let observer = try RawClient.greeted(bus)
    try observer.send(Observe(options: .awaited), serial: 1, name: "unit.*")
    _ = try observer.next(.ok)
    let (poster, welcome) = try RawClient.welcomed(bus)
    try poster.send(Post(options: .awaited, deadline: 60_000), serial: 9, name: "unit.willStop")
    _ = try observer.next(.post)
    for _ in 0..<2 { try bus.restart() }
    try observer.send(Done(poster: welcome.connection, post: 9), serial: 2)
    let awaited = try poster.next(.awaited)
    #expect(awaited.header.serial == 9)
    #expect(try awaited.decode(Awaited.self).acknowledged == 1)
  }

  @Test("what comes due just when it is to end comes to pass after it")
  func due() throws {
    // This one is not stopped, and says when the time is over.
    let clock = try TestBus()
    for _ in 0..<3 {
      let asked = try askedDelegate(RawClient.greeted(bus), RawClient.greeted(bus))
      try bus.command("signal \(SIGSTOP)")
      let later = try askedDelegate(RawClient.greeted(clock), RawClient.greeted(clock))
      #expect(try later.asker.nextVerdict().outcomes.map(\.outcome) == [.timedOut])
      try bus.command("signal \(SIGTERM)")
      try bus.command("signal \(SIGCONT)")
      #expect(try bus.command("wait") == ["ended", "0"])
      try bus.start()
      #expect(try asked.asker.nextVerdict().outcomes.map(\.outcome) == [.timedOut])
      #expect(try asked.delegate.nextConclusion() == .vetoed)
    }
  }

  /// Has a delegate asked that says nothing, for the same short time each time.
  private func askedDelegate(
    _ asker: RawClient, _ delegate: RawClient
  ) throws -> (asker: RawClient, delegate: RawClient) {
    try delegate.attach(Attach(timeout: 200, label: "x", patterns: ["a.shouldB"]), serial: 1)
    try asker.send(Ask(deadline: 60_000), serial: 7, name: "a.shouldB")
    _ = try delegate.nextQuestion()
    return (asker, delegate)
  }

  @Test("connections that never say hello go while the log is swept")
  func garbage() throws {
    let bus = try RestartedBus(configuration: "[Bus]\nStateMax=1M\n")
    let rounds = 40
    // Each takes a pass of its own to be closed, and a sweep takes fewer passes than those of a round.
    let silent = try (0..<rounds * 8).map { _ in try RawClient(path: bus.path) }
    // They have been accepted when somebody who came later is served.
    try RawClient.greeted(bus).settle()
    try bus.restart()
    var churn = Churn(try RawClient.greeted(bus))
    for (index, client) in silent.enumerated() {
      if index % 8 == 0 { try churn.round() }
      try client.send(Array("GET / HTTP/1.0\r\n\r\n".utf8))
      _ = try client.readHello()
      #expect(try client.nextError() == .badMagic)
      #expect(try client.readToEnd().isEmpty)
    }
    // It has been swept.
    #expect(try bus.storedLog().length < rounds * Churn.lengthPerRound)
    try bus.restart()
    try churn.client.settle()
  }

  @Test("whoever does not say hello is waited for no longer than anybody else")
  func silence() throws {
    let bus = try RestartedBus(configuration: "[Bus]\nHelloTimeoutSec=1s\n")
    let silent = try RawClient(path: bus.path)
    try RawClient.greeted(bus).settle()
    try bus.restart()
    _ = try silent.readHello()
    #expect(try silent.nextError() == .helloTimeout)
  }

  /// An observer that has been sent the beginning of a notification.
  private func observer(of payload: String, on bus: RestartedBus) throws -> RawClient {
    let observer = try RawClient.greeted(bus)
    try observer.observe("load.*", serial: 1)
    let poster = try RawClient.greeted(bus)
    try poster.send(Post(), serial: 1, flags: .acknowledge, name: "load.unit", text: payload)
    _ = try poster.next(.ok)
    return observer
  }

  @Test("what is wrong with a frame that has come in part is said behind what is being sent")
  func refusedAfterwards() throws {
    // More than the kernel takes.
    let payload = String(repeating: "x", count: 1_500_000)
    let observer = try observer(of: payload, on: bus)
    let frame = ByteBuffer(capacity: 200_000)
    frame.appendFrame(Post(), serial: 1, name: "load.unit", text: String(repeating: "y", count: 120_000))
    try observer.send(Array([UInt8](frame.bytes).prefix(40_000)))
    try RawClient.greeted(bus).settle()
    // Half a frame of that length has no room any more.
    try bus.folder.write("[Bus]\nPayloadMax=64K\nPartialFramesMemoryMax=64K\n", to: "etc/tribuned.conf")
    try bus.restart()
    #expect(try observer.next(.post).payload == payload)
    #expect(try observer.nextError() == .restarted)
    #expect(try observer.readToEnd().isEmpty)
  }

  @Test("who cannot go on is told nothing in the middle of a frame")
  func nothingWithin() throws {
    let bus = try RestartedBus(
      configuration: "[Bus]\nStateMax=1M\n[Notifications]\nRetainedMax=8M\nRetainedUserMax=8M\n")
    let payload = String(repeating: "x", count: 1_500_000)
    let observer = try observer(of: payload, on: bus)
    let poster = try RawClient.greeted(bus)
    // So much that there is room for nothing more.
    for size in [300_000, 100_000, 30_000, 10_000, 3000, 1000, 300] {
      let text = String(repeating: "r", count: size)
      for number in 1...4 {
        try poster.send(
          Post(options: .retain), serial: 1, flags: .acknowledge, name: "unit.state",
          object: "u/\(size)/\(number)", text: text)
        _ = try poster.next()
      }
    }
    for serial in Serial(2)...20 {
      try observer.send(Observe(), serial: serial, name: "n\(serial).\(String(repeating: "x", count: 200))")
    }
    try poster.settle()
    try bus.end(SIGTERM)
    // Now there is room in its socket again.
    var bytes = try observer.nextBytes()
    try bus.start()
    while case let more = try observer.nextBytes(), !more.isEmpty { bytes += more }
    let head = ByteBuffer(capacity: 64)
    head.appendFrame(Post(), serial: 1, name: "load.unit")
    #expect((head.count..<payload.utf8.count).contains(bytes.count))
    #expect(bytes.dropFirst(head.count).allSatisfy { $0 == UInt8(ascii: "x") })
  }

  @Test("many connections and registrations are all there")
  func many() throws {
    let clients = try (0..<300).map { _ in try RawClient.greeted(bus) }
    for (index, client) in clients.enumerated() {
      for serial in 1...10 {
        try client.send(Observe(), serial: Serial(serial), name: "load.n\(index).s\(serial)")
      }
      for _ in 1...10 { _ = try client.next(.ok) }
    }
    try bus.restart()
    let poster = try RawClient.greeted(bus)
    for index in clients.indices {
      try poster.send(Post(), serial: 1, name: "load.n\(index).s\(index % 10 + 1)")
    }
    for (index, client) in clients.enumerated() {
      #expect(try client.next().name == "load.n\(index).s\(index % 10 + 1)")
      try client.expectSilence()
    }
  }
}
