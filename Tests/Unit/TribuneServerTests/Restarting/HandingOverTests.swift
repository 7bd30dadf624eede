// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneSystem
import TribuneWire

@testable import TribuneCore
@testable import TribuneLog
@testable import TribuneServer

@MainActor
@Suite("A hand-over", .timeLimit(.minutes(15)))
struct HandingOverTests {
  @Test("includes a connection that was accepted after descriptors had run out")
  func arrivals() throws {
    let bus = try SteppedBus()
    bus.server.acceptor.handleFailure(.tooManyDescriptors)
    _ = try bus.stranger()
    try bus.server.handOver()
    #expect(bus.server.sessions.count == 1)
  }

  @Test("leaves to the next bus what it has no time for")
  func unhandled() throws {
    let clock = SteppingClock()
    let bus = try SteppedBus(clock)
    let client = try bus.client()
    let frames = ByteBuffer(capacity: 4096)
    for serial in 1...30 as ClosedRange<Serial> {
      frames.appendFrame(Observe(options: .awaited), serial: serial, name: "load.n\(serial)")
    }
    frames.append(UInt32(64))
    try client.send(frames)
    clock.step = 100_000_000
    try bus.pass(client)
    try bus.server.handOver()
    let before = try client.frames().map(\.serial)
    #expect(before.count < 15)
    let next = try bus.successor()
    while next.server.hasWork { try next.pass() }
    let after = try client.frames().map(\.serial)
    #expect(before + after == Array(1...30))
    #expect(try next.session(of: client).input.count == 4)
  }

  @Test("refuses lists that were received in part, and leaves the others to the next bus")
  func lists() throws {
    let clock = SteppingClock()
    let bus = try SteppedBus(clock)
    let clients = try (0..<4).map { _ in try bus.client() }
    for client in clients { try client.send(List(.connections), serial: 1) }
    clock.step = 1_000_000_000
    bus.beginIteration()
    for client in clients { try bus.read(client) }
    bus.endIteration()
    try bus.server.handOver()
    let before = try clients.map { try $0.frames().map(\.kind) }
    #expect(before[0].contains(.error) && before.dropFirst().allSatisfy(\.isEmpty))
    let next = try bus.successor()
    for client in clients { try next.pass(client) }
    while next.server.hasWork { try next.pass() }
    let after = try clients.map { try $0.frames().map(\.kind) }
    let whole: [FrameKind?] = [.entry, .entry, .entry, .entry, .ok]
    #expect(after == [[], whole, whole, whole])
  }

  @Test("gives the keeper a retained file that it lacks")
  func retainedFile() throws {
    let bus = try SteppedBus()
    let memory = try SharedFile(length: 1)
    let file = try FileDescriptor.duplicate(of: memory.rawDescriptor)
    let copy = file.inode
    let inode = try #require(copy)
    // As after a take-over without a free descriptor for the keeper.
    bus.server.recorder.retainedFiles.value[RetainedFiles.key("load.isHigh", "")] = inode
    try bus.session(of: bus.client()).input.descriptors.append(owning: file.release())
    try bus.server.handOver()
    #expect(bus.keeper.isToKeep(.file(inode)))
  }
}
