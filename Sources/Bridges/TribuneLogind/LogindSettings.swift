// SPDX-License-Identifier: Apache-2.0

package import TribuneService
import TribuneSystem
import TribuneWire

/// What logind.conf and signals.conf say.
nonisolated package struct LogindSettings: Equatable, Sendable {
  /// `Probe=`: how often delegates without a hold are asked a dry run; nil for never.
  package var probe: Duration?
  /// `Enforce=mask`: the targets of vetoed actions are masked.
  package var masksTargets = false
  package var signals: [SignalRule] = []

  package init() {}

  /// Reads logind.conf, logind.conf.d/*.conf, signals.conf and signals.conf.d/*.conf in a directory. Later lines win. A
  /// missing directory is a warning, unless it is the default one.
  ///
  /// - Returns: the settings without what is wrong, and all that is.
  package static func load(from directory: String) -> (LogindSettings, [Diagnostic]) {
    var reader = LogindSettingsReader()
    reader.readAll(in: directory)
    return reader.finish()
  }
}
