// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribunePolicy
package import TribuneService
import TribuneSystem
import TribuneWire

nonisolated extension Configuration {
  /// The sections, in the order of config/tribuned.conf. A section with a subject, such as `[User "backup"]`,
  /// may occur several times. The settings of all its occurrences apply.
  package static let sections: [SettingsSection<Configuration>] = [
    SettingsSection(
      "Bus",
      [
        .count("ConnectionsMax", \.connectionsMax, 1...BusServer.slotCount),
        .size(
          "PayloadMax", \.payloadMaxBytes, WireLimits.payloadLengthFloor...WireLimits.payloadLengthCeiling),
        .count("RegistrationsMax", \.registrationsMax, 1...1 << 24),
        .count("ObservationsMax", \.observationsMax, 1...1_048_576),
        .count("DelegatesMax", \.delegatesMax, 1...1_048_576),
        .count("QueriesMax", \.queriesMax, 1...1_048_576),
        .span("HelloTimeoutSec", \.helloTimeoutNanoseconds, millisecond...day),
        .span("FrameTimeoutSec", \.frameTimeoutNanoseconds, millisecond...day),
        .size("PartialFramesMemoryMax", \.partialFramesMemoryMaxBytes, 64 << 10...1 << 40),
        .size("LogMax", \.logMaxBytes, 1 << 20...1 << 31),
      ]),
    SettingsSection(
      "Queue",
      [
        .size("HighMark", \.queue.highMarkBytes, 1...1 << 40),
        .size("LowMark", \.queue.lowMarkBytes, 0...1 << 40),
        .size("HardLimit", \.queue.hardLimitBytes, 1...1 << 40),
        .span("PaceMaxSec", \.queue.paceMaxNanoseconds, 0...10 * second),
        .size("MemoryMax", \.queue.memoryMaxBytes, 64 << 10...1 << 40),
      ]),
    SettingsSection(
      "Notifications",
      [
        .size("BufferMax", \.notifications.bufferMaxBytes, 0...1 << 40),
        .size("RetainedMax", \.notifications.retainedMaxBytes, 0...1 << 30),
      ]),
    SettingsSection(
      "Delegation",
      [
        .span("DelegateTimeoutSec", \.delegateTimeoutNanoseconds, millisecond...7 * day),
        .span("DeadlineSec", \.deadlineNanoseconds, millisecond...7 * day),
        .span("DeadlineMaxSec", \.deadlineMaxNanoseconds, millisecond...7 * day),
      ]),
    SettingsSection(
      "Query", hasSubject: true,
      [
        Setting("RequireDelegate") { configuration, value, place throws(SettingError) in
          let delegates = try requiredDelegates(value)
          configuration.policy.change(try pattern(place.subject)) { $0.require(delegates) }
        },
        Setting("Default") { configuration, value, place throws(SettingError) in
          let isVeto = try SettingSyntax.word(value, ["veto": true, "allow": false])
          configuration.policy.change(try pattern(place.subject)) { $0.vetoesByDefault = isVeto }
        },
        Setting("HoldMaxSec") { configuration, value, place throws(SettingError) in
          let span = value.isEmpty ? nil : try SettingSyntax.span(value, in: second...36_525 * day)
          configuration.policy.change(try pattern(place.subject)) {
            $0.holdMax = span.map { TimeSpan(microseconds: Int64($0 / 1_000)) }
          }
        },
      ], begin: { _, place throws(SettingError) in _ = try pattern(place.subject) },
      consequence: "it may be what vetoes"),
    SettingsSection(
      "Object", hasSubject: true,
      [
        // An object has one protocol, so the last value for its pattern counts.
        Setting("Protocol") { configuration, value, place throws(SettingError) in
          let pattern = try objects(place.subject)
          configuration.objects.removeAll { $0.pattern == pattern }
          if !value.isEmpty {
            configuration.objects.append(ObjectRule(pattern: pattern, protocolName: value))
          }
        }
      ], begin: { _, place throws(SettingError) in _ = try objects(place.subject) }),
    SettingsSection(
      "User", hasSubject: true,
      [
        Setting("Share") { configuration, value, place throws(SettingError) in
          let share = value.isEmpty ? nil : try SettingSyntax.count(value, in: 1...1_000)
          if let user = try user(place.subject) { configuration.weights[user] = share }
        }
      ],
      begin: { _, place throws(SettingError) in
        if try user(place.subject) == nil {
          throw SettingError(place.subject, "is no user of this host; the section is ignored", .warning)
        }
      }),
    SettingsSection(
      "Socket", [Setting("Mode", \.socketMode, SettingSyntax.mode)]),
    SettingsSection(
      "Log",
      [
        Setting("Level", \.logLevel) { value throws(SettingError) in
          try SettingSyntax.word(
            value,
            ["error": .error, "warning": .warning, "notice": .notice, "info": .info, "debug": .debug])
        }
      ]),
  ]

  private static let millisecond: UInt64 = 1_000_000
  private static let second = 1_000 * millisecond
  private static let day = 86_400 * second

  // MARK: Subjects and values

  private static func pattern(_ text: String) throws(SettingError) -> Pattern {
    if text.isEmpty { throw SettingError(message: "needs a query, as in [Query \"backup.*\"]") }
    let pattern: Pattern
    do throws(WireError) {
      pattern = try Pattern(text)
    } catch {
      throw SettingError(text, "is not a pattern: a name, with * for a token and a last ** for one or more")
    }
    try SettingSyntax.requireQuestion(text)
    return pattern
  }

  private static func objects(_ text: String) throws(SettingError) -> ObjectPattern {
    if text.isEmpty { throw SettingError(message: "needs an object, as in [Object \"view/*\"]") }
    guard let pattern = ObjectPattern(text) else {
      throw SettingError(
        text,
        "is not a pattern of objects: an object, with * for a part between slashes and a last ** for the rest"
      )
    }
    return pattern
  }

  /// The user's id. Nil if this host has no such user, which is no error.
  private static func user(_ text: String) throws(SettingError) -> UInt32? {
    if text.isEmpty { throw SettingError(message: "needs a user, as in [User \"backup\"]", .mistake) }
    // The id -1 is not a user: chown(2) and other calls read it as "no change".
    if SettingSyntax.number(text[...]) != nil {
      guard let id = UInt32(text), id != .max else { throw SettingError(text, "is not a user id", .mistake) }
      return id
    }
    do throws(Errno) {
      return try UserDatabase.id(of: text)
    } catch {
      throw SettingError(text, "cannot be looked up: \(error)", .mistake)
    }
  }

  private static func requiredDelegates(_ text: String) throws(SettingError) -> [RequiredDelegate] {
    var delegates: [RequiredDelegate] = []
    for word in SettingSyntax.words(of: text) {
      guard !word.contains(where: { ",;'\"".contains($0) }) else {
        throw SettingError(word, "is not a delegate: separate delegates by spaces, without quotes")
      }
      guard let delegate = RequiredDelegate(word) else {
        // A word with a colon has an unknown prefix or an empty name, so the message suggests a placeholder.
        let name = word.contains(":") ? "NAME" : word.escaped
        let unit = word.contains(":") || Condition.isUnit(word) ? name : "\(name).service"
        throw SettingError(
          word, "does not say what it names: write unit:\(unit) for a system unit, label:\(name) for a label")
      }
      if case .unit(let name) = delegate, !Condition.isUnit(name) {
        throw SettingError(
          word, "is not a unit in which a process can be: write its whole name, such as unit:backup.service")
      }
      guard word.utf8.count <= WireLimits.labelLength else {
        throw SettingError(word, "is too long: the limit is \(WireLimits.labelLength) bytes")
      }
      delegates.append(delegate)
    }
    return delegates
  }
}
