// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@Suite("Bad input", .timeLimit(.minutes(2)))
struct BadInputTests {
  @Test("a peer that speaks something else is told, closed and logged")
  func badMagic() throws {
    let bus = try TestBus()
    let client = try RawClient(bus)
    try client.send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
    _ = try client.readHello()
    #expect(try client.nextError() == .badMagic)
    #expect(try client.readToEnd().isEmpty)
    #expect(try bus.log().contains("no Tribune hello"))
  }
}
