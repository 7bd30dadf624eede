// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@Suite("Protocols in files", .timeLimit(.minutes(15)))
struct ConfiguredProtocolTests {
  private func bus(_ files: [String: String], objects: [String: String] = [:]) throws -> TestBus {
    let folder = try TestFolder()
    for (name, text) in files { try folder.write(text, to: "etc/protocols.d/\(name).protocol") }
    return try TestBus(configuration: Self.sections(objects), folder: folder)
  }

  private static func sections(_ objects: [String: String]) -> String {
    objects.sorted { $0.key < $1.key }.map { "[Object \"\($0)\"]\nProtocol=\($1)\n" }.joined()
  }

  private func protocols(_ client: RawClient) throws -> [String] {
    try client.list(List(.protocols)).compactMap {
      if case .protocol(let entry) = $0 { entry.name } else { nil }
    }
  }

  private func post(_ name: String, _ object: String, by client: RawClient) throws -> ErrorCode? {
    try client.send(Post(), serial: 77, flags: .acknowledge, name: name, object: object, text: "{}")
    while true {
      let frame = try client.next()
      guard frame.header.serial == 77, frame.kind != .post else { continue }
      return frame.kind == .ok ? nil : try frame.decode(Refusal.self).code
    }
  }

  @Test("the bus starts without faulty protocols, and reports where the mistakes are")
  func mistakes() throws {
    let bus = try bus(
      ["a": "protocol Good { optional did a.didB () }\nprotocol Bad { optional did a.b () }\n"],
      objects: ["good/*": "Good", "bad/*": "Bad"])
    let client = try RawClient.greeted(bus)
    #expect(try protocols(client) == ["Good"])
    #expect(try post("a.didC", "good/1", by: client) == .unknownName)
    #expect(try post("a.didB", "good/1", by: client) == nil)
    #expect(try post("a.didC", "bad/1", by: client) == nil)
    let etc = "\(bus.folder.path)/etc"
    let checked = try FinishedProgram.tribuned(["--check-config", "--config=\(etc)"])
    #expect(checked.status == 1)
    for said in [checked.errors, try bus.log()] {
      #expect(said.contains("\(etc)/protocols.d/a.protocol:2:29: mistake: "), "\(said)")
    }
  }

  @Test("a reload adds, changes and removes protocols, and keeps one that a delegate needs")
  func reload() throws {
    let objects = ["view/*": "P"]
    let bus = try bus(["p": "protocol P { optional did p.didX () }\n"], objects: objects)
    let owner = try RawClient.greeted(bus)
    try owner.attach(Attach(patterns: ["p.didX"], protocols: ["P"]), object: "view/1", serial: 2)
    #expect(try post("p.didX", "view/1", by: owner) == nil)

    try bus.folder.write(
      "protocol P { optional did p.didY () }\nprotocol Q : P {}\n", to: "etc/protocols.d/p.protocol")
    try bus.reload(Self.sections(objects))
    #expect(try protocols(owner) == ["P", "Q"])
    #expect(try post("p.didX", "view/1", by: owner) == .unknownName)
    #expect(try post("p.didY", "view/1", by: owner) == nil)

    try bus.folder.write("protocol P {", to: "etc/protocols.d/p.protocol")
    try bus.reload(Self.sections(objects))
    #expect(try protocols(owner).isEmpty)
    #expect(try bus.log().contains("p.protocol:1:13: mistake: "))
    #expect(try bus.log().contains("keep their protocol \"P\""))
  }

  @Test("a reload of a configuration with errors leaves the protocols unchanged")
  func badReload() throws {
    let bus = try bus(["p": "protocol P {}"], objects: ["view/*": "P"])
    let client = try RawClient.greeted(bus)
    try bus.folder.write("protocol Q {}", to: "etc/protocols.d/p.protocol")
    try bus.reload("[Object \"a*\"]\nProtocol=Q\n")
    #expect(try protocols(client) == ["P"])
    #expect(try post("p.didX", "view/1", by: client) == .unknownName)
  }
}
