// SPDX-License-Identifier: Apache-2.0

import TribuneHTTP
import TribuneService
import TribuneWire

/// Reads the sections `[FleetLock]` and `[FleetLock "GROUP"]`.
nonisolated struct FleetLockSettingsReader {
  private var settings = FleetLockSettings()
  private var access = HTTPAccessReader()
  /// Of the section that is read; nil for `[FleetLock]`.
  private var group: String?

  mutating func begin(_ subject: String?) throws(SettingError) {
    if let subject {
      guard FleetLockSettings.isGroup(subject) else {
        throw SettingError(subject, "is not words of letters, digits and - with dots between them")
      }
      guard settings.groups[subject] != nil || settings.groups.count < FleetLockSettings.groupsMax else {
        throw SettingError(message: "there are more than \(FleetLockSettings.groupsMax) of these sections")
      }
      if settings.groups[subject] == nil { settings.groups[subject] = FleetLockSettings.Group() }
    }
    group = subject
  }

  /// - Returns: false if there is no such key.
  mutating func take(
    _ key: String, _ value: String, _ file: String, _ line: Int
  ) throws(SettingError) -> Bool {
    guard let group else { return try access.take(key, value, file, line) }
    switch key {
    case "Slots":
      settings.groups[group]?.slots = 1
      settings.groups[group]?.slots = try Self.slots(value)
    case "Ask":
      // What cannot be read might veto.
      settings.groups[group]?.lack = "Ask= of the group \(group) is no name"
      settings.groups[group]?.question = try Self.question(value)
      settings.groups[group]?.lack = nil
    default: return false
    }
    return true
  }

  /// - Returns: the settings without what is wrong, and what is only seen when all lines were read.
  consuming func finish() -> (FleetLockSettings, [Diagnostic]) {
    let (access, diagnostics) = access.finish()
    settings.access = access
    return (settings, diagnostics)
  }

  private static func slots(_ text: String) throws(SettingError) -> Int {
    if text.isEmpty { return 1 }
    let slots = try SettingSyntax.count(text)
    guard (1...LeaseRecord.slotsMax).contains(slots) else {
      throw SettingError(text, "is not from 1 to \(LeaseRecord.slotsMax)")
    }
    return slots
  }

  private static func question(_ text: String) throws(SettingError) -> String? {
    if text.isEmpty { return nil }
    guard NameSyntax.isName(text.utf8Bytes), !NameSyntax.isReserved(text.utf8Bytes) else {
      throw SettingError(text, "is no name that programs may ask")
    }
    return text
  }
}
