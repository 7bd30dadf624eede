// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// The settings in logind.conf and signals.conf.
nonisolated package struct LogindSettings: Equatable, Sendable {
  /// `Probe=`: interval of dry runs for delegates without a hold; nil for never.
  package var probe: Duration?
  /// `Enforce=`: mask the targets of vetoed actions; nil masks only where locks do not bind root.
  package var masksTargets: Bool?
  package var signals: [SignalRule] = []

  package init() {}
}
