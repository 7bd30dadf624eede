// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// A hold on `host.shouldReboot`, and `unit.state`, retained with its userInfo in a file.
extension RawClient {
  func holdAndRetain(_ contents: [UInt8]) throws {
    try sendConfirmed(Hold(), serial: 1, name: "host.shouldReboot", text: "backup")
    try post(
      "unit.state", options: .retain, file: try SharedFile.make(contents), length: contents.count, serial: 2,
      flags: .acknowledge)
    _ = try next(.ok)
  }

  func expectHeldAndRetained(_ contents: [UInt8]) throws {
    #expect(try ask("host.shouldReboot", serial: 1).outcomes.map(\.reason) == ["backup"])
    try send(Observe(options: .retained), serial: 2, name: "unit.state")
    #expect(try next(.retained).payloadBytes == contents)
  }
}
