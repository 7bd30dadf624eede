// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

@Suite("LogMax=", .timeLimit(.minutes(15)))
struct LogLengthTests {
  private let bus: RestartedBus
  private let poster: RawClient

  init() throws {
    bus = try RestartedBus(configuration: LogFilling.configuration())
    poster = try RawClient.greeted(bus)
    try poster.observe("kept.*", serial: 9)
  }

  private func configure(logMax: String) throws {
    try bus.folder.write(LogFilling.configuration(logMax: logMax), to: "etc/tribuned.conf")
  }

  private func retain(_ count: Int) throws {
    try poster.retain(count, as: "unit.state", text: String(repeating: "x", count: 300_000))
  }

  private func retained() throws -> [String] {
    try RawClient.greeted(bus).retainedObjects(of: "unit.*").sorted()
  }

  /// Nil reloads the daemon.
  private static let ways: [RestartedBus.Way?] = [nil, .planned, .crash]

  private func apply(_ way: RestartedBus.Way?) throws {
    if let way { try bus.restart(way) } else { try bus.bus.reload(bus.folder.read("etc/tribuned.conf")) }
  }

  @Test("accepts more entries once it is raised", arguments: ways)
  func more(_ way: RestartedBus.Way?) throws {
    try retain(4)
    try poster.send(Hold(), serial: 2, name: "unit.*", text: "full")
    #expect(try poster.nextError() == .limitExceeded)
    #expect(try bus.log().contains("the log is full"))
    try configure(logMax: "8M")
    try apply(way)
    try poster.sendConfirmed(Hold(), serial: 2, name: "unit.*", text: "full")
    #expect(try bus.log().split(separator: "the log is full").count == 2)
  }

  @Test("loses nothing if it is lower than the log's contents, and warns", arguments: ways)
  func less(_ way: RestartedBus.Way?) throws {
    try configure(logMax: "8M")
    try bus.restart()
    let (older, newer) = (try RawClient.greeted(bus), try RawClient.greeted(bus))
    for client in [older, newer] { try client.observe("load.*", serial: 1) }
    try retain(9)
    try configure(logMax: "1M")
    try apply(way)
    if way != nil { #expect(try bus.log().contains("above its limit of 1048576 (LogMax=)")) }
    for _ in 0..<2 {
      try bus.restart()
      try bus.crash()
    }
    #expect(try retained() == (0..<9).map { "\($0)" })
    try newer.observe("unit.*", serial: 2)
    try bus.crash()
    #expect(try newer.nextError() == .restarted)
    try poster.send(Post(), serial: 2, name: "load.unit")
    #expect(try older.next().name == "load.unit")
    #expect(try retained().count == 9)
  }
}
