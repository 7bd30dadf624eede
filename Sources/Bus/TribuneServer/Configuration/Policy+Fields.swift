// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribunePolicy
import TribuneSystem
import TribuneWire

nonisolated extension AccessRules {
  /// The bus's user may do everything. Without policy files, root may, too.
  static func ofBus(_ policy: Policy?) -> AccessRules {
    let owner = ThisProcess.effectiveUser
    guard let policy else { return .policy(Policy(), exempt: [owner, 0]) }
    return .policy(policy, exempt: [owner])
  }
}

nonisolated extension PolicyFields {
  init(_ policy: Policy?) {
    self.init(
      policy?.lines.compactMap { line in
        line.resolvedText.map {
          AccessLine(file: line.origin.file, number: UInt32(clamping: line.origin.number), text: $0)
        }
      })
  }

  func policy() throws(WireError) -> Policy? {
    guard let lines else { return nil }
    var parser = PolicyParser(.none)
    for line in lines { parser.read(Array(line.text.utf8), file: line.file, from: Int(line.number)) }
    if let diagnostic = parser.diagnostics.first(where: { !$0.isWarning }) {
      throw WireError(.invalidValue, diagnostic.description)
    }
    return Policy(parser.lines)
  }
}
