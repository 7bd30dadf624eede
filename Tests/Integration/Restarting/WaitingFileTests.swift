// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneSystem
import TribuneWire

@Suite("Files that wait for their frames", .timeLimit(.minutes(15)))
struct WaitingFileTests {
  private static let contents = SharedFile.bytes(100_000)
  private static let cut = 20

  private let bus: RestartedBus

  init() throws { bus = try RestartedBus() }

  private func posters(_ count: Int, of file: borrowing FileDescriptor) throws -> [RawClient] {
    let posters = try (0..<count).map { _ in try RawClient.greeted(bus) }
    for (index, poster) in posters.enumerated() {
      try poster.observe("kept.*", serial: 9)
      try poster.send(Array(Self.frame(index).prefix(Self.cut)), with: [file.rawValue])
    }
    // The bus has read them once it has served a later client.
    try RawClient.greeted(bus).settle()
    return posters
  }

  private static func frame(_ index: Int) -> [UInt8] {
    RawClient.post("load.file", length: contents.count, serial: Serial(index) + 1)
  }

  private func retain(_ file: borrowing FileDescriptor) throws {
    try RawClient.greeted(bus).retainFile(file, length: Self.contents.count, as: "kept.file", serial: 1)
  }

  private func expectRetained() throws {
    try RawClient.greeted(bus).expectRetained(Self.contents, under: "kept.*", serial: 1)
  }

  @Test("stay with each of their frames", arguments: [false, true])
  func handedOver(isRetained: Bool) throws {
    let file = try SharedFile.make(Self.contents)
    let observer = try RawClient.observing("load.*", on: bus)
    if isRetained { try retain(file) }
    let posters = try posters(3, of: file)
    for _ in 0..<2 { try bus.restart() }
    for (index, poster) in posters.enumerated() {
      try poster.send(Array(Self.frame(index).dropFirst(Self.cut)))
      #expect(try observer.next(.post).payloadBytes == Self.contents)
      try poster.settle()
    }
    if isRetained { try expectRetained() }
    #expect(try bus.endCountingFiles() == (isRetained ? 1 : 0))
  }

  @Test("go with their connections if the bus dies, unless they are retained")
  func killed() throws {
    let file = try SharedFile.make(Self.contents)
    try retain(file)
    let posters = try posters(2, of: file)
    try bus.crash()
    for poster in posters { #expect(try poster.nextError() == .restarted) }
    try expectRetained()
    try bus.crash()
    try expectRetained()
    #expect(try bus.endCountingFiles() == 1)
  }
}
