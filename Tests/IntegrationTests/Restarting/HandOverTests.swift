// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneServer
import TribuneSystem
import TribuneWire

/// What is under way when the bus is restarted as planned, or its place is taken: nothing of it is lost.
@Suite("Handing over", .timeLimit(.minutes(2)))
struct HandOverTests {
  private let bus: RestartedBus

  init() throws { bus = try RestartedBus() }

  @Test(
    "a descriptor that waits for its frame and is no file in memory is refused with it, as without a restart",
    arguments: ["/proc/self/exe", "/dev/null"], RestartedBus.Way.unnoticed)
  func unusableDescriptor(path: String, _ way: RestartedBus.Way) throws {
    let poster = try RawClient.greeted(bus)
    let bytes = RawClient.post("load.file", length: 100_000, serial: 7)
    let file = FileDescriptor(owning: try retrying { unsafe open(path, O_RDONLY | O_CLOEXEC) })
    try poster.send(Array(bytes[..<20]), with: [file.rawValue])
    try RawClient.greeted(bus).settle()
    try bus.restart(way)
    try poster.send(Array(bytes[20...]))
    #expect(try poster.nextError() == .invalidDescriptor)
    try poster.settle()
  }

  @Test("what comes due just when it is to end comes to pass after it")
  func due() throws {
    // This one is not stopped, and says when the time is over.
    let clock = try TestBus()
    for _ in 0..<3 {
      let asked = try askedDelegate(RawClient.greeted(bus), RawClient.greeted(bus))
      try bus.bus.freeze()
      let later = try askedDelegate(RawClient.greeted(clock), RawClient.greeted(clock))
      #expect(try later.asker.nextVerdict().outcomes.map(\.outcome) == [.timedOut])
      bus.bus.signal(SIGTERM)
      bus.bus.signal(SIGCONT)
      #expect(bus.bus.waitForEnd() == 0)
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

  @Test("connections that never say hello go while the log is compacted")
  func garbage() throws {
    let bus = try RestartedBus(configuration: "[Bus]\nLogMax=1M\n")
    let rounds = 40
    // Each is closed in a loop iteration of its own, and a compaction takes fewer of them than a round.
    let silent = try (0..<rounds * 8).map { _ in try RawClient(path: bus.path) }
    // They have been accepted when somebody who came later is served.
    try RawClient.greeted(bus).settle()
    try bus.end(.planned)
    let state = try bus.withKept { try FileDescriptor.duplicate(of: $0.descriptor(.log)) }
    try bus.start()
    var churn = Churn(try RawClient.greeted(bus))
    for (index, client) in silent.enumerated() {
      if index % 8 == 0 { try churn.round() }
      try client.send(Array("GET / HTTP/1.0\r\n\r\n".utf8))
      _ = try client.readHello()
      #expect(try client.nextError() == .badMagic)
      #expect(try client.readToEnd().isEmpty)
    }
    // It has been compacted.
    #expect(try SavedLog(of: state.rawValue).log.count < rounds * Churn.lengthPerRound)
    try bus.restart()
    try churn.client.settle()
  }

  @Test(
    "what is wrong with a frame that has come in part is said behind what is being sent",
    arguments: RestartedBus.Way.unnoticed)
  func refusedAfterwards(_ way: RestartedBus.Way) throws {
    let observer = try RawClient.observing("load.*", on: bus)
    // More than the kernel takes.
    let payload = String(repeating: "x", count: 1_500_000)
    try RawClient.greeted(bus).sendConfirmed(Post(), serial: 1, name: "load.unit", text: payload)
    let frame = ByteBuffer(capacity: 200_000)
    frame.appendFrame(Post(), serial: 1, name: "load.unit", text: String(repeating: "y", count: 120_000))
    try observer.send(Array([UInt8](frame.bytes).prefix(40_000)))
    try RawClient.greeted(bus).settle()
    // Half a frame of that length has no room any more.
    try bus.folder.write("[Bus]\nPayloadMax=64K\nPartialFramesMemoryMax=64K\n", to: "etc/tribuned.conf")
    try bus.restart(way)
    #expect(try observer.next(.post).payload == payload)
    #expect(try observer.nextError() == .restarted)
    #expect(try observer.readToEnd().isEmpty)
  }
}
