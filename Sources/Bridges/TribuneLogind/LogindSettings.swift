// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

nonisolated package struct LogindSettings: Equatable, Sendable {
  /// `Probe=`: the interval of dry runs; nil for no dry runs.
  package var probe: Duration?
  /// `Enforce=`: true for `mask`, false for `inhibit`.
  package var masksTargets = true
  package var signals: [SignalRule] = []

  package init() {}
}
