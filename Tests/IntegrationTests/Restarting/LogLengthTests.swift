// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

/// How long the log may be is what the configuration says now, whoever made it.
@Suite("LogMax=", .timeLimit(.minutes(2)))
struct LogLengthTests {
  private let bus: RestartedBus
  private let poster: RawClient

  init() throws {
    bus = try RestartedBus(configuration: Self.configuration(logMax: "1M"))
    poster = try RawClient.greeted(bus)
    try poster.observe("kept.*", serial: 9)
  }

  private static func configuration(logMax: String) -> String {
    "[Bus]\nLogMax=\(logMax)\n[Notifications]\nRetainedMax=32M\nRetainedUserMax=32M\n"
  }

  private func configure(logMax: String) throws {
    try bus.folder.write(Self.configuration(logMax: logMax), to: "etc/tribuned.conf")
  }

  /// Has so many notifications retained, three of which have room in 1 MiB.
  private func retain(_ count: Int, about object: String) throws {
    let text = String(repeating: "x", count: 300_000)
    for number in 0..<count {
      try poster.sendConfirmed(
        Post(options: .retain), serial: 1, name: "unit.state",
        object: "\(object)/\(number)", text: text)
    }
  }

  /// The objects of all that is retained.
  private func retained() throws -> [String] {
    let observer = try RawClient.greeted(bus)
    try observer.send(Observe(options: .retained), serial: 1, name: "unit.*")
    var objects: [String] = []
    while case let frame = try observer.next(), frame.kind == .retained { objects.append(frame.object) }
    return objects.sorted()
  }

  enum Way: CaseIterable {
    case reload, restart, crash, replacement

    /// Has the bus go by what the configuration says now.
    func perform(on bus: RestartedBus) throws {
      switch self {
      case .reload: try bus.bus.reload(bus.folder.read("etc/tribuned.conf"))
      case .restart: try bus.restart()
      case .crash: try bus.crash()
      case .replacement: try bus.replace()
      }
    }
  }

  @Test("that is more than before makes room", arguments: Way.allCases)
  func more(_ way: Way) throws {
    try retain(4, about: "a")
    try poster.send(Hold(), serial: 2, name: "unit.*", text: "full")
    #expect(try poster.nextError() == .limitExceeded)
    #expect(try bus.log().contains("the log has no room for more"))
    try configure(logMax: "8M")
    try way.perform(on: bus)
    try poster.sendConfirmed(Hold(), serial: 2, name: "unit.*", text: "full")
    #expect(try bus.log().split(separator: "no room for more").count == 2)
  }

  @Test("that is less than what there is loses nothing, and says what it keeps out", arguments: Way.allCases)
  func less(_ way: Way) throws {
    try configure(logMax: "8M")
    try bus.restart()
    let (older, newer) = (try RawClient.greeted(bus), try RawClient.greeted(bus))
    for client in [older, newer] { try client.observe("load.*", serial: 1) }
    try retain(9, about: "a")
    try configure(logMax: "1M")
    try way.perform(on: bus)
    if way != .reload {
      #expect(try bus.log().contains("LogMax= lets it grow to 1048576: until"))
    }
    for _ in 0..<2 {
      try bus.restart()
      try bus.crash()
    }
    #expect(try retained() == (0..<9).map { "a/\($0)" })
    // Who adds something is told that it is gone.
    try newer.observe("unit.*", serial: 2)
    try bus.crash()
    #expect(try newer.nextError() == .restarted)
    try poster.send(Post(), serial: 2, name: "load.unit")
    #expect(try older.next().name == "load.unit")
    #expect(try retained().count == 9)
  }
}
