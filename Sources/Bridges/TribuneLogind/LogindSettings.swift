// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

nonisolated package struct LogindSettings: Equatable, Sendable {
  /// `Probe=`: interval of dry runs; nil for never.
  package var probe: Duration?
  /// `Enforce=`; nil masks only where locks do not bind root.
  package var masksTargets: Bool?
  package var signals: [SignalRule] = []

  package init() {}
}
