// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

extension Bus {
  /// Applies a configuration.
  mutating func apply(_ configuration: Configuration, log: Log) {
    limits = configuration.busLimits
    policy = configuration.policy
    let report = configure(protocols: configuration.protocolSources, objects: configuration.objects)
    for replacement in report.replacements { log.warning("\(replacement)") }
    for rule in report.kept {
      log.notice(
        "objects like \"\(rule.pattern.text.escaped)\" have delegates, and keep the protocol \"\(rule.protocolName)\" that they had"
      )
    }
  }
}
