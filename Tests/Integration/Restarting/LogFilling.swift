// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// Fills the log of a bus whose `RetainedMax=` exceeds its `LogMax=` of 1 MiB.
struct LogFilling {
  static func configuration(logMax: String = "1M") -> String {
    "[Bus]\nLogMax=\(logMax)\n[Notifications]\nRetainedMax=32M\n"
  }

  private static let name = "filling.state"

  private let bus: RestartedBus
  private let poster: RawClient

  init(_ bus: RestartedBus) throws {
    self.bus = bus
    poster = try RawClient.greeted(bus)
  }

  func fill() throws {
    let text = String(repeating: "x", count: 60_000)
    try poster.retain(1 + (1 << 20) / text.utf8.count, as: Self.name, text: text)
    try poster.send(Hold(), serial: 2, name: "filling.*", text: "full")
    #expect(try poster.nextError() == .limitExceeded)
    #expect(try bus.log().contains("the log is full"))
  }

  func empty() throws {
    for object in try RawClient.greeted(bus).retainedObjects(of: Self.name) {
      try poster.sendConfirmed(Post(options: .retain), serial: 1, name: Self.name, object: object)
    }
  }
}
