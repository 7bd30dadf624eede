// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneWire

/// Other clients are written from docs/PROTOCOL.md, so it must match the code.
@Suite("docs/PROTOCOL.md") struct ProtocolDocumentTests {
  @Test("explains each kind, under its number", arguments: FrameKind.allCases)
  func explainsKind(_ kind: FrameKind) throws {
    #expect(try Self.text(of: "PROTOCOL").contains("\n### \(kind) (\(kind.rawValue))\n"))
  }

  @Test(
    "states the limits",
    arguments: [
      ("name, pattern", WireLimits.nameLength), ("object", WireLimits.objectLength),
      ("label", WireLimits.labelLength), ("fields of a frame to the bus", WireLimits.fieldsLength),
      ("name of a protocol", WireLimits.protocolNameLength),
      ("reason of an override", WireLimits.reasonLength),
      ("patterns in one `attach`", WireLimits.patternsPerDelegate),
      ("protocols in one `attach`", WireLimits.protocolsPerDelegate),
    ])
  func limit(_ what: String, _ limit: Int) throws {
    #expect(try Self.text(of: "LIMITS").contains("\n| \(what) | \(limit.grouped)"))
  }

  private static func text(of document: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return try String(contentsOf: root.appending(path: "../../docs/\(document).md"), encoding: .utf8)
  }
}

extension Int {
  fileprivate var grouped: String {
    let digits = String(self)
    return String(
      digits.enumerated().flatMap { place, digit in
        place > 0 && (digits.count - place) % 3 == 0 ? [",", digit] : [digit]
      })
  }
}
