// SPDX-License-Identifier: Apache-2.0

/// The place of a setting in the files, for messages.
package struct SettingPlace: Sendable, CustomStringConvertible {
  package var subject = ""
  package let file: String
  /// The line's number, from 1; nil for the whole file.
  package var line: Int?

  package var description: String { line.map { "\(file):\($0)" } ?? file }
}

package struct Setting<Settings: Sendable>: Sendable {
  /// Applies a value to the settings. If the closure throws, the changes that it has already made stay.
  package typealias Change =
    @Sendable (inout Settings, _ value: String, SettingPlace) throws(SettingError) -> Void
  package typealias Path<Value> = any WritableKeyPath<Settings, Value> & Sendable

  package let name: String
  let change: Change
  /// Resets the setting for an empty value. If `reset` is nil, `change` handles empty values too.
  let reset: (@Sendable (inout Settings, _ defaults: Settings) -> Void)?
  package let text: (@Sendable (Settings) -> String)?

  package init(_ name: String, _ change: @escaping Change) {
    self.name = name
    self.change = change
    reset = nil
    text = nil
  }

  /// If `parse` throws, the setting becomes `strict`, or keeps its value if `strict` is nil.
  package init<Value: Sendable>(
    _ name: String, _ path: Path<Value>, strictly strict: Value? = nil,
    text: (@Sendable (Value) -> String)? = nil,
    _ parse: @escaping @Sendable (String) throws(SettingError) -> Value
  ) {
    self.name = name
    change = { settings, value, _ throws(SettingError) in
      if let strict { settings[keyPath: path] = strict }
      settings[keyPath: path] = try parse(value)
    }
    reset = { settings, defaults in settings[keyPath: path] = defaults[keyPath: path] }
    if let text {
      self.text = { settings in text(settings[keyPath: path]) }
    } else {
      self.text = nil
    }
  }

  package static func count(_ name: String, _ path: Path<Int>, _ range: ClosedRange<Int>) -> Setting {
    Setting(name, path) { value throws(SettingError) in
      try SettingSyntax.count(value, in: range)
    }
  }

  package static func size(_ name: String, _ path: Path<Int>, _ range: ClosedRange<Int>) -> Setting {
    Setting(name, path, text: SettingSyntax.text(size:)) { value throws(SettingError) in
      try SettingSyntax.size(value, in: range)
    }
  }

  package static func span(_ name: String, _ path: Path<UInt64>, _ range: ClosedRange<UInt64>) -> Setting {
    Setting(name, path, text: SettingSyntax.text(span:)) { value throws(SettingError) in
      try SettingSyntax.span(value, in: range)
    }
  }

  package static func span(_ name: String, _ path: Path<Duration>, _ range: ClosedRange<UInt64>) -> Setting {
    Setting(name, path) { value throws(SettingError) in
      .nanoseconds(Int64(clamping: try SettingSyntax.span(value, in: range)))
    }
  }
}

package struct SettingsSection<Settings: Sendable>: Sendable {
  package typealias Begin = @Sendable (inout Settings, SettingPlace) throws(SettingError) -> Void
  package typealias Doubt = @Sendable (inout Settings, SettingPlace) -> Void

  package let name: String
  package let hasSubject: Bool
  package let settings: [Setting<Settings>]
  /// Called for the section's header. If `begin` throws a `warning`, the reader still reads the section.
  /// After any other error, it skips the section.
  let begin: Begin
  /// Applies the strictest setting after an unknown key or an unreadable line, because the operator may have
  /// meant the line to forbid something. If nil, the settings stay as they are.
  let doubt: Doubt?
  /// The consequence of an unknown key, as text for the message. If nil, the message says that the key is
  /// ignored, unless the key belongs in another section that has a consequence.
  let consequence: String?

  package init(
    _ name: String, hasSubject: Bool = false, _ settings: [Setting<Settings>],
    begin: @escaping Begin = { _, _ in }, doubt: Doubt? = nil, consequence: String? = nil
  ) {
    self.name = name
    self.hasSubject = hasSubject
    self.settings = settings
    self.begin = begin
    self.doubt = doubt
    self.consequence = consequence
  }
}
