// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// What logind.conf and signals.conf say.
nonisolated package struct LogindSettings: Equatable, Sendable {
  /// `Probe=`: how often delegates without a hold are asked a dry run; nil for never.
  package var probe: Duration?
  /// `Enforce=`: whether the targets of vetoed actions are masked; nil to do so where locks do not bind root.
  package var masksTargets: Bool?
  package var signals: [SignalRule] = []

  package init() {}
}
