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

  private let bus: RestartedBus

  init() throws { bus = try RestartedBus() }

  /// Who posts one file each, and has sent the beginning of the frame with it.
  private func posters(_ count: Int, of file: borrowing FileDescriptor) throws -> [RawClient] {
    let posters = try (0..<count).map { _ in try RawClient.greeted(bus) }
    for (index, poster) in posters.enumerated() {
      try poster.observe("kept.*", serial: 9)
      try poster.send(Array(Self.frame(index).prefix(Self.cut)), with: [file.rawValue])
    }
    // They have been read when somebody who came later has been served.
    try RawClient.greeted(bus).settle()
    return posters
  }

  private static func frame(_ index: Int) -> [UInt8] {
    RawClient.post("load.file", length: contents.count, serial: Serial(index) + 1)
  }

  private func retain(_ file: borrowing FileDescriptor) throws {
    let poster = try RawClient.greeted(bus)
    try poster.post(
      "kept.file", options: .retain, file: file, length: Self.contents.count, serial: 1, flags: .acknowledge)
    _ = try poster.next(.ok)
  }

  private func expectRetained() throws {
    let client = try RawClient.greeted(bus)
    try client.send(Observe(options: .retained), serial: 1, name: "kept.*")
    #expect(try client.next(.retained).payloadBytes == Self.contents)
  }

  @Test(
    "go on with each frame, also those of one file", arguments: RestartedBus.Way.unnoticed, [false, true])
  func handedOver(_ way: RestartedBus.Way, isRetained: Bool) throws {
    let file = try SharedFile.make(Self.contents)
    let observer = try RawClient.observing("load.*", on: bus)
    if isRetained { try retain(file) }
    let posters = try posters(3, of: file)
    for _ in 0..<2 { try bus.restart(way) }
    for (index, poster) in posters.enumerated() {
      try poster.send(Array(Self.frame(index).dropFirst(Self.cut)))
      #expect(try observer.next(.post).payloadBytes == Self.contents)
      try poster.settle()
    }
    if isRetained { try expectRetained() }
    // Nothing of it is kept any longer than it has to be.
    #expect(try bus.endCountingFiles() == (isRetained ? 1 : 0))
  }

  @Test("go with their connections if the bus dies, and what is retained in them stays")
  func killed() throws {
    let file = try SharedFile.make(Self.contents)
    try retain(file)
    let posters = try posters(2, of: file)
    try bus.crash()
    for poster in posters { #expect(try poster.nextError() == .restarted) }
    try expectRetained()
    // Those that have to connect again are kept no more.
    try bus.crash()
    try expectRetained()
    #expect(try bus.endCountingFiles() == 1)
  }
}
