// SPDX-License-Identifier: Apache-2.0

import TribuneHTTP
import TribuneService
import TribuneWire

nonisolated extension FleetLockSettings {
  static func sections<Settings: Sendable>(
    of path: any WritableKeyPath<Settings, FleetLockSettings> & Sendable,
    access: any WritableKeyPath<Settings, HTTPAccessReader> & Sendable
  ) -> [SettingsSection<Settings>] {
    [
      SettingsSection(
        "FleetLock", HTTPAccessReader.settings(of: access),
        // An unreadable line may have been TokenFile=, so the gateway serves no client.
        doubt: { settings, place in settings[keyPath: access].doubt(place) },
        consequence: "no client is served"),
      SettingsSection(
        "FleetLock", hasSubject: true,
        [
          Setting("Slots") { settings, value, place throws(SettingError) in
            settings[keyPath: path].groups[place.subject]?.slots = 1
            if value.isEmpty { return }
            settings[keyPath: path].groups[place.subject]?.slots =
              try SettingSyntax.count(value, in: 1...LeaseRecord.slotsMax)
          },
          Setting("Ask") { settings, value, place throws(SettingError) in
            let group = place.subject
            // With an invalid name, the question to ask is unknown, so no client of the group gets the lease.
            settings[keyPath: path].groups[group]?.lack = "Ask= of the group \(group) is no name"
            settings[keyPath: path].groups[group]?.question = try question(value)
            settings[keyPath: path].groups[group]?.lack = nil
          },
        ],
        begin: { settings, place throws(SettingError) in try settings[keyPath: path].begin(place.subject) },
        // An unreadable line may have been Ask=, so no client of the group gets the lease.
        doubt: { settings, place in
          settings[keyPath: path].groups[place.subject]?.lack = "\(place) cannot be read"
        }, consequence: "no host of the group may reboot"),
    ]
  }

  private mutating func begin(_ group: String) throws(SettingError) {
    guard Self.isGroup(group) else {
      throw SettingError(group, "is not words of letters, digits and -, separated by dots")
    }
    guard groups[group] != nil || groups.count < Self.groupsMax else {
      throw SettingError(message: "there are more than \(Self.groupsMax) of these sections")
    }
    if groups[group] == nil { groups[group] = Group() }
  }

  private static func question(_ text: String) throws(SettingError) -> String? {
    if text.isEmpty { return nil }
    guard NameSyntax.isName(text.utf8Bytes), !NameSyntax.isReserved(text.utf8Bytes) else {
      throw SettingError(text, "is not a name that programs may ask")
    }
    guard WellKnownQuestions.canBeAsked(text) else {
      throw SettingError(text, "is not the name of a question: \(WellKnownQuestions.hint(for: text))")
    }
    return text
  }
}
