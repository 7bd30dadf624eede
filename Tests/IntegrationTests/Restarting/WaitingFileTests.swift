// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneSystem
import TribuneWire

/// Files in memory whose frames have come in part when the bus goes. One file can have come with several, and be retained,
/// or under way, as well.
@Suite("Files that wait for their frames", .timeLimit(.minutes(2)))
struct WaitingFileTests {
  private static let contents = SharedFile.bytes(100_000)
  private static let cut = 20

  /// Who posts one file each, and has sent the beginning of the frame with it.
  private static func posters(
    _ count: Int, of file: borrowing FileDescriptor, greeted: () throws -> RawClient
  ) throws -> [RawClient] {
    let posters = try (0..<count).map { _ in try greeted() }
    for (index, poster) in posters.enumerated() {
      try poster.send(Array(frame(index).prefix(cut)), with: [file.rawValue])
    }
    // They have been read when somebody who came later has been served.
    try greeted().settle()
    return posters
  }

  private static func frame(_ index: Int) -> [UInt8] {
    RawClient.post("load.file", length: contents.count, serial: Serial(index) + 1)
  }

  private static func retain(_ file: borrowing FileDescriptor, by poster: RawClient) throws {
    try poster.post(
      "kept.file", options: .retain, file: file, length: contents.count, serial: 1, flags: .acknowledge)
    _ = try poster.next(.ok)
  }

  private static func expectRetained(_ client: RawClient) throws {
    try client.send(Observe(options: .retained), serial: 1, name: "kept.*")
    #expect(try client.next(.retained).payloadBytes == contents)
  }

  enum Way: CaseIterable { case restart, replacement }

  @Test(
    "go on with each frame, also those of one file", arguments: Way.allCases, [false, true])
  func handedOver(_ way: Way, isRetained: Bool) throws {
    let file = try SharedFile.make(Self.contents)
    switch way {
    case .restart:
      let bus = try RestartedBus()
      try Self.expectGoingOn(
        file, isRetained: isRetained, greeted: { try RawClient.greeted(bus) }, handOver: bus.restart)
      // Nothing of it is kept any longer than it has to be.
      #expect(try bus.endCountingFiles() == (isRetained ? 1 : 0))
    case .replacement:
      let replaced = try ReplacedBus()
      try Self.expectGoingOn(
        file, isRetained: isRetained, greeted: { try RawClient.greeted(replaced.bus) },
        handOver: { try replaced.replace() })
    }
  }

  private static func expectGoingOn(
    _ file: borrowing FileDescriptor, isRetained: Bool, greeted: () throws -> RawClient,
    handOver: () throws -> Void
  ) throws {
    let observer = try greeted()
    try observer.observe("load.*", serial: 1)
    let keeper = try greeted()
    if isRetained { try retain(file, by: keeper) }
    let posters = try posters(3, of: file, greeted: greeted)
    for _ in 0..<2 { try handOver() }
    for (index, poster) in posters.enumerated() {
      try poster.send(Array(frame(index).dropFirst(cut)))
      #expect(try observer.next(.post).payloadBytes == contents)
      try poster.settle()
    }
    if isRetained { try expectRetained(try greeted()) }
  }

  @Test("go with their connections if the bus dies, and what is retained in them stays")
  func killed() throws {
    let bus = try RestartedBus()
    let file = try SharedFile.make(Self.contents)
    let keeper = try RawClient.greeted(bus)
    try Self.retain(file, by: keeper)
    let posters = try Self.posters(2, of: file) { try RawClient.greeted(bus) }
    try bus.crash()
    for poster in posters { #expect(try poster.nextError() == .restarted) }
    try Self.expectRetained(try RawClient.greeted(bus))
    // Those that have to connect again are kept no more.
    try RawClient.greeted(bus).settle()
    try bus.end(SIGKILL)
    try bus.start()
    try Self.expectRetained(try RawClient.greeted(bus))
    #expect(try bus.endCountingFiles() == 1)
  }
}
