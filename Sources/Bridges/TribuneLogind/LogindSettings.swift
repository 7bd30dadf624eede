// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

nonisolated package struct LogindSettings: Equatable, Sendable {
  /// `Probe=`: the interval of dry runs; nil for no dry runs.
  package var probe: Duration?
  /// `Enforce=`: true for `mask`, false for `inhibit`. If nil, targets are masked only where locks do not bind root.
  package var masksTargets: Bool?
  package var signals: [SignalRule] = []

  package init() {}
}
