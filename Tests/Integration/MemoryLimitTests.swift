// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@Suite("Memory limits", .timeLimit(.minutes(15)))
struct MemoryLimitTests {
  private static let prlimit = "/usr/bin/prlimit"
  private static let frameLength = 16 << 20

  private func begin(_ client: RawClient, serial: Serial) throws {
    let name = "load.unit"
    try client.send {
      $0.appendHead(
        of: Post(), flags: .acknowledge, sender: .bus, serial: serial, nameLength: name.utf8.count,
        objectLength: 0, payloadLength: Self.frameLength)
      $0.append(name.utf8.map { $0 })
    }
  }

  private func end(_ client: RawClient) throws {
    try client.send([UInt8](repeating: UInt8(ascii: "x"), count: Self.frameLength))
  }

  @Test("a long frame that does not fit into memory ends only its own connection")
  func longFrames() throws {
    // With one arena for each thread, a thread's first allocation would take 64 MiB of the limit.
    let bus = try TestBus(
      configuration: "[Bus]\nPayloadMax=16M\nPartialFramesMemoryMax=1G\n",
      environment: ["MALLOC_ARENA_MAX": "1"])
    let other = try RawClient.greeted(bus)
    let clients = try (0..<6).map { _ in try RawClient.greeted(bus) }
    try other.settle()
    let limit = try bus.processStatus("VmSize") * 1024 + Self.frameLength / 2 * 5
    let limited = try FinishedProgram([Self.prlimit, "--pid=\(bus.pid)", "--as=\(limit)"])
    try #require(limited.status == 0, "\(limited.errors)")
    for client in clients {
      try begin(client, serial: 1)
      // By then the bus has read the beginning of the frame.
      try other.settle()
    }
    for client in clients[2...] { #expect(try client.nextError() == .outOfMemory) }
    for client in clients[..<2] {
      try end(client)
      #expect(try client.next(.ok).header.serial == 1)
    }
    let next = try RawClient.greeted(bus)
    try begin(next, serial: 1)
    try end(next)
    #expect(try next.next(.ok).header.serial == 1)
    try other.settle()
  }

  @Test("a daemon without memory for its log reports that, and does not start")
  func state() throws {
    let folder = try TestFolder()
    let daemon = try FinishedProgram([
      Self.prlimit, "--as=100000000", try Programs.path(of: "tribuned"), "--listen=\(folder.path)/bus",
      "--config=\(folder.path)",
    ])
    #expect(daemon.status == 1)
    #expect(daemon.errors.contains("LogMax="), "\(daemon.errors)")
  }
}
