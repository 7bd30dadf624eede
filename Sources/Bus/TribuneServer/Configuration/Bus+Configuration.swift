// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribunePolicy
import TribuneSystem
import TribuneWire

nonisolated extension Bus {
  init(_ configuration: Configuration, _ accounts: Accounts) {
    self.init(
      limits: configuration.busLimits, seed: UInt64.random(in: .min ... .max), accounts: accounts,
      payloadCheck: PayloadCheck(
        userInfo: ValueCheck.check(userInfo:for:), value: ValueCheck.check(value:of:)),
      access: .ofBus(configuration.access))
    policy = configuration.policy
    _ = configure(protocols: configuration.protocolSources, objects: configuration.objects)
  }

  /// The bytes that one copy of a configuration takes in the log.
  static func loggedLength(of configuration: Configuration) -> Int {
    var bus = Bus(configuration, Accounts())
    let fields = ByteBuffer(capacity: 0)
    bus.appendConfiguration(to: fields)
    return fields.count
  }
}

extension Bus {
  mutating func apply(_ configuration: Configuration, at now: Instant, log: Log) {
    limits = configuration.busLimits
    policy = configuration.policy
    let report = configure(protocols: configuration.protocolSources, objects: configuration.objects)
    for replacement in report.replacements { log.warning("\(replacement)") }
    for rule in report.kept {
      log.notice(
        "objects matching \"\(rule.pattern.text.escaped)\" have delegates, and keep their protocol \"\(rule.protocolName)\""
      )
    }
    apply(.ofBus(configuration.access), at: now)
    announce(.didReload)
  }
}
