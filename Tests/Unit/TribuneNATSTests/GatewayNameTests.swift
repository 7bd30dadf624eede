// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import TribuneNATS

@Suite("Names that only gateways answer", .timeLimit(.minutes(15)))
struct GatewayNameTests {
  @Test(
    "A scope precedes the question's name",
    arguments: [
      ("scope.cluster.unit.shouldStop", .cluster("unit.shouldStop")), ("scope.host.a", .host("a")),
      ("scope.cluster.scope.host.a", .cluster("scope.host.a")), ("cluster.holds", .report(.holds)),
      ("cluster.explain", .report(.explanation)), ("cluster.peers", .report(.peers)),
      ("cluster.lease.acquire", .lease), ("scope.world.a", nil),
      ("cluster.shouldReboot", nil), ("cluster.lease.shouldBreak", nil),
    ] as [(String, GatewayName?)])
  func parsing(name: String, expected: GatewayName?) {
    #expect(GatewayName(name) == expected)
  }

  @Test("Gateways attach with patterns of those names", arguments: ["cluster", "host"])
  func patterns(scope: String) throws {
    let patterns = try (GatewayName.clusterPatterns + [GatewayName.hostPattern]).map { try Pattern($0) }
    #expect(patterns.contains { $0.matches("scope.\(scope).unit.shouldStop".utf8Bytes) })
    #expect(!patterns.contains { $0.matches("unit.shouldStop".utf8Bytes) })
  }
}
