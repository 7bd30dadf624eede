// SPDX-License-Identifier: Apache-2.0

package import TribuneService
import TribuneWire

nonisolated package struct LogindSettingsReader {
  private struct Draft: Sendable {
    var settings = LogindSettings()
    var origins: [SettingPlace] = []

    mutating func change(_ body: (inout SignalRule) throws(SettingError) -> Void) throws(SettingError) {
      try body(&settings.signals[settings.signals.count - 1])
    }
  }

  private static let sections: [SettingsSection<Draft>] = [
    SettingsSection(
      "Logind",
      [
        Setting("Probe", \.settings.probe, probe),
        // An invalid value counts as `mask`, because a mistake must not permit a vetoed action.
        Setting("Enforce", \.settings.masksTargets, strictly: true) { value throws(SettingError) -> Bool in
          try SettingSyntax.word(value, ["mask": true, "inhibit": false])
        },
      ],
      // An unreadable line may have been Enforce=, so the strict value applies.
      doubt: { draft, _ in draft.settings.masksTargets = true }, consequence: "Enforce=mask applies"),
    SettingsSection(
      "Signal", hasSubject: true,
      [
        Setting("Post") { draft, value, _ throws(SettingError) in try draft.change(post(value)) },
        Setting("Object") { draft, value, _ throws(SettingError) in try draft.change(object(value)) },
        Setting("Sender") { draft, value, _ throws(SettingError) in try draft.change(sender(value)) },
        Setting("Path") { draft, value, _ throws(SettingError) in try draft.change(path(value)) },
        Setting("Retain") { draft, value, _ throws(SettingError) in
          let isRetained = try SettingSyntax.flag(value)
          try draft.change { $0.isRetained = isRetained }
        },
      ],
      begin: { draft, place throws(SettingError) in
        guard let rule = SignalRule(signal: place.subject) else {
          throw SettingError(place.subject, "is not INTERFACE.MEMBER of a D-Bus signal")
        }
        draft.settings.signals.append(rule)
        draft.origins.append(place)
      }),
  ]

  private var reader = SettingsReader(Draft(), Self.sections)

  package init() {}

  mutating func readAll(in directory: String?) {
    reader.read("logind.conf", "signals.conf", in: directory)
  }

  package mutating func read(_ contents: [UInt8], file: String) { reader.read(contents, file: file) }

  package consuming func finish() -> (LogindSettings, [Diagnostic]) {
    let draft = reader.settings
    var settings = draft.settings
    for (rule, origin) in zip(settings.signals, draft.origins) where rule.post == nil {
      reader.diagnose(.error, origin, "Post= is missing: the name of the notification")
    }
    settings.signals.removeAll { $0.post == nil }
    return (settings, reader.diagnostics)
  }

  // MARK: Values

  private typealias Change = (inout SignalRule) throws(SettingError) -> Void

  private static func post(_ text: String) -> Change {
    { rule throws(SettingError) in
      guard NameSyntax.isName(text.utf8Bytes), !NameSyntax.isReserved(text.utf8Bytes) else {
        throw SettingError(text, "is not a notification name")
      }
      rule.post = text
    }
  }

  private static func object(_ text: String) -> Change {
    { rule throws(SettingError) in
      guard text.isEmpty || NameSyntax.isObject(text.utf8Bytes) else {
        throw SettingError(text, "is not an object")
      }
      rule.object = text
    }
  }

  private static func sender(_ text: String) -> Change {
    { rule throws(SettingError) in
      guard text.isEmpty || SignalRule.isPlain(text) else {
        throw SettingError(text, "is not a D-Bus service name")
      }
      rule.sender = text.isEmpty ? SignalRule.owner(of: rule.interface) : text
    }
  }

  private static func path(_ text: String) -> Change {
    { rule throws(SettingError) in
      guard text.isEmpty || SignalRule.isPlain(text) && text.hasPrefix("/") else {
        throw SettingError(text, "is not a D-Bus object path")
      }
      rule.path = text.isEmpty ? nil : text
    }
  }

  private static func probe(_ text: String) throws(SettingError) -> Duration? {
    if text == "no" { return nil }
    let nanoseconds = try SettingSyntax.span(text)
    guard nanoseconds >= 1_000_000_000 else { throw SettingError(text, "is less than a second") }
    return .nanoseconds(Int64(clamping: nanoseconds))
  }
}
