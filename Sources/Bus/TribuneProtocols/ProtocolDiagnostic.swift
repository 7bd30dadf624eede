// SPDX-License-Identifier: Apache-2.0

import TribuneWire

package struct ProtocolDiagnostic: Hashable, Sendable, CustomStringConvertible {
  package enum Kind: Sendable {
    case mistake
    /// The protocol's name already has another definition, which stays.
    case conflict
    /// The protocol at `location` in a file replaces one of the same name that a connection has defined.
    case replacement
  }

  package var kind: Kind
  package var location: SourceLocation
  package var message: String

  package init(_ location: SourceLocation, _ message: String, kind: Kind = .mistake) {
    self.kind = kind
    self.location = location
    self.message = message
  }

  /// The text is safe to print on a terminal.
  package var description: String { "\(location): \(message)".escaped }
}

struct DiagnosticList {
  private var kept: [ProtocolDiagnostic] = []
  private var last: SourceLocation?
  private(set) var count = 0

  mutating func append(_ diagnostic: ProtocolDiagnostic) {
    count += 1
    if count <= ProtocolLimits.diagnosticsPerSource {
      kept.append(diagnostic)
    } else {
      last = diagnostic.location
    }
  }

  var diagnostics: [ProtocolDiagnostic] {
    guard let last else { return kept }
    return kept + [ProtocolDiagnostic(last, "this is the last of \(count - kept.count) more mistakes")]
  }
}
