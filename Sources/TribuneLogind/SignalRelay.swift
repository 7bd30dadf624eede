// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneSystem
import TribuneWire

/// Posts chosen D-Bus signals as notifications. Nothing goes the other way, so nothing can go round in a circle.
final class SignalRelay {
  /// Bytes of arguments; longer ones are left out.
  private static let argumentsLengthMax = 64 << 10

  private final class Source {
    let rule: SignalRule
    var match: DBusConnection.Match?
    var task: Task<Void, Never>?
    var budget = SignalBudget()

    init(_ rule: SignalRule) { self.rule = rule }
  }

  private var sources: [Source] = []

  init() {}

  /// Watches these signals from now on, and no others.
  ///
  /// - Parameter bus: the connection to post to; nil while there is none, when signals are ignored.
  func watch(
    _ rules: [SignalRule], on dbus: DBusConnection, postingTo bus: @escaping () -> Connection?
  ) throws(Errno) {
    sources = []
    for rule in rules {
      let source = Source(rule)
      source.match = try dbus.match(rule.match) { [weak self, weak source] signal in
        if let self, let source, let bus = bus() { relay(signal, from: source, to: bus) }
      }
      sources.append(source)
    }
  }

  private func relay(_ signal: DBusConnection.Message, from source: Source, to bus: Connection) {
    guard let omitted = source.budget.admit(at: .now) else { return }
    let rule = source.rule
    if omitted > 0 {
      ServiceLog.warning("\(omitted) signals \(rule.member) were not posted: too many came, or the bus hangs")
    }
    let userInfo = Self.userInfo(of: signal, rule, omitted: omitted)
    // One post after the other, in the order of the signals.
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

  static func userInfo(of signal: DBusConnection.Message, _ rule: SignalRule, omitted: Int) -> [UInt8] {
    var members: [(name: String, value: JSONValue)] = [
      ("signal", .string("\(rule.interface).\(rule.member)")), ("path", .string(signal.path)),
      ("sender", .string(signal.sender)),
    ]
    if omitted > 0 { members.append(("omitted", .integer(omitted))) }
    let arguments = JSONValue.array(signal.values.map(\.json)).compactBytes
    if arguments.count <= argumentsLengthMax {
      members.append(("arguments", .array(signal.values.map(\.json))))
    } else {
      members.append(("argumentsLength", .integer(arguments.count)))
    }
    return JSONValue.object(members).compactBytes
  }
}
