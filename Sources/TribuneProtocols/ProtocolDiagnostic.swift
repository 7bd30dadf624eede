// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// What is to be said about a place in a source.
package struct ProtocolDiagnostic: Hashable, Sendable, CustomStringConvertible {
  package enum Kind: Sendable {
    /// What stands there is wrong, and the protocol around it is left out.
    case mistake
    /// A protocol of this name is defined otherwise already, and stays.
    case conflict
    /// A connection's definition of this name gives way to this one.
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

  /// `FILE:LINE:COLUMN: MESSAGE`, harmless to a terminal.
  package var description: String { "\(location): \(message)".escaped }
}

/// The diagnostics of one source, as many as anybody reads.
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

  /// What was kept, and how much was not.
  var diagnostics: [ProtocolDiagnostic] {
    guard let last else { return kept }
    return kept + [ProtocolDiagnostic(last, "this is the last of \(count - kept.count) more mistakes")]
  }
}
