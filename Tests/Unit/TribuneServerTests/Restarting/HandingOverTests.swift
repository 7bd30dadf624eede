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
  @Test("takes a connection along that was accepted while descriptors had run out")
  func arrivals() throws {
    let bus = try SteppedBus()
    bus.server.acceptor.noteFailure(.tooManyDescriptors)
    _ = try bus.stranger()
    try bus.server.handOver()
    #expect(bus.server.sessions.count == 1)
  }

  @Test("has the keeper keep a retained file that it lacks")
  func retainedFile() throws {
    let bus = try SteppedBus()
    let memory = try SharedFile(length: 1)
    let file = try FileDescriptor.duplicate(of: memory.rawDescriptor)
    let copy = file.inode
    let inode = try #require(copy)
    // As after a take-over that had no descriptor left for the keeper.
    bus.server.recorder.retainedFiles.value[RetainedFiles.key("load.isHigh", "")] = inode
    try bus.session(of: bus.client()).input.descriptors.append(owning: file.release())
    try bus.server.handOver()
    #expect(bus.keeper.isToKeep(.file(inode)))
  }
}
