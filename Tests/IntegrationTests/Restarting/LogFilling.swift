// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// Fills the log of a bus whose `RetainedMax=` is over its `LogMax=` of 1 MiB.
struct LogFilling {
  static let configuration = "[Bus]\nLogMax=1M\n[Notifications]\nRetainedMax=32M\nRetainedUserMax=32M\n"

  private let path: String
  private let poster: RawClient
  private let log: () throws -> String
  private static let stateLength = 1 << 20

  init(_ bus: RestartedBus) throws {
    (path, log) = (bus.path, bus.log)
    poster = try RawClient.greeted(bus)
  }

  /// Has so much retained that there is no room for anything new, and has a hold refused for it.
  func fill() throws {
    let text = String(repeating: "x", count: 60_000)
    for number in 0...Self.stateLength / text.utf8.count {
      try poster.sendConfirmed(
        Post(options: .retain), serial: 1, name: "filling.state", object: "\(number)",
        text: text)
    }
    try poster.send(Hold(), serial: 2, name: "filling.*", text: "full")
    #expect(try poster.nextError() == .limitExceeded)
    #expect(try log().contains("the log has no room for more"))
  }

  /// Has all of that retained no more.
  func empty() throws {
    let observer = try RawClient(path: path)
    try observer.greet()
    try observer.send(Observe(options: .retained), serial: 1, name: "filling.state")
    var objects: [String] = []
    while case let frame = try observer.next(), frame.kind == .retained { objects.append(frame.object) }
    for object in objects {
      try poster.sendConfirmed(
        Post(options: .retain), serial: 1, name: "filling.state", object: object)
    }
  }
}
