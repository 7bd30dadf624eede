// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneWire

@testable import Tribune

@Suite("docs/PROTOCOL.md")
struct RenamedCodesTests {
  @Test("has the codes that have another name here")
  func renamed() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let text = try String(contentsOf: root.appending(path: "../../docs/PROTOCOL.md"), encoding: .utf8)
    var names: [Substring: Substring] = [:]
    for row in text.matches(of: #/\n\| (`.*`) \| `(\w+)` \| `-E\w+` \|/#) {
      for name in row.1.matches(of: #/\w+/#) { names[name.0] = row.2 }
    }
    #expect(names.count > 10)
    for code in ErrorCode.allCases {
      let name = "\(code)"
      #expect(TribuneError.Code(code).description == names[name[...]] ?? name[...])
    }
  }
}
