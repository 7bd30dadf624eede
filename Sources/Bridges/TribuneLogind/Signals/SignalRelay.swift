// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneService
import TribuneSystem
import TribuneWire

/// Posts D-Bus signals as notifications, but sends no D-Bus signals, so loops are impossible.
final class SignalRelay {
  private final class Source {
    let rule: SignalRule
    var signals: DBusSignals?
    var task: Task<Void, Never>?
    var budget = SignalBudget()

    init(_ rule: SignalRule) { self.rule = rule }
  }

  private var sources: [Source] = []

  init() {}

  /// Ignores signals while `bus` returns nil.
  func watch(
    _ rules: [SignalRule], on dbus: DBusConnection, postingTo bus: @escaping () -> Connection?
  ) throws(Errno) {
    sources = []
    for rule in rules {
      let source = Source(rule)
      let signals = try DBusSignals(of: rule.sender, on: dbus)
      try signals.on(interface: rule.interface, member: rule.member, path: rule.path) {
        [weak self, weak source] signal in
        if let self, let source, let bus = bus() { relay(signal, from: source, to: bus) }
      }
      source.signals = signals
      sources.append(source)
    }
  }

  private func relay(_ signal: DBusMessage, from source: Source, to bus: Connection) {
    guard let omitted = source.budget.admit(at: .now) else { return }
    let rule = source.rule
    if omitted > 0 {
      ServiceLog.warning("\(omitted) signals \(rule.member) were not posted: too many came, or the bus hangs")
    }
    let userInfo = Self.userInfo(of: signal, rule, omitted: omitted)
    // Each post waits for the previous one, so posts keep the order of the signals.
    source.task = Task { [earlier = source.task] in
      await earlier?.value
      defer { source.budget.finish() }
      do throws(TribuneError) {
        try await bus.postAcknowledged(
          rule.post ?? "", object: rule.object, userInfo: UserInfo(userInfo),
          options: PostOptions(isRetained: rule.isRetained))
      } catch {
        ServiceLog.warning("the signal \(rule.member) was not posted as \(rule.post ?? ""): \(error)")
      }
    }
  }

  static func userInfo(of signal: DBusMessage, _ rule: SignalRule, omitted: Int) -> [UInt8] {
    var members: [(name: String, value: JSONValue)] = [
      ("signal", .string("\(rule.interface).\(rule.member)")), ("path", .string(signal.path)),
      ("sender", .string(signal.sender)),
    ]
    if omitted > 0 { members.append(("omitted", .integer(omitted))) }
    if let values = signal.values {
      members.append(("arguments", .array(values.map(\.json))))
    } else {
      members.append(("isTooLong", .bool(true)))
    }
    return JSONValue.object(members).compactBytes
  }
}
