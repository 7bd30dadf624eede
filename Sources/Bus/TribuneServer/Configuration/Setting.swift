// SPDX-License-Identifier: Apache-2.0

import TribuneCore
package import TribuneService
import TribuneWire

/// One key of `tribuned.conf`: its section, its range of values, and the property that it sets.
nonisolated package struct Setting: Sendable {
  package let section: String
  package let key: String
  private let kind: Kind

  private typealias Path<Value> = any WritableKeyPath<Configuration, Value> & Sendable

  private enum Kind: Sendable {
    case count(Path<Int>, ClosedRange<Int>)
    case size(Path<Int>, ClosedRange<Int>)
    case span(Path<UInt64>, ClosedRange<UInt64>)
    case mode(Path<UInt32>)
    case level(Path<Log.Level>)
  }

  /// All keys, section by section.
  package static let all: [Setting] = [
    Setting("Bus", "ConnectionsMax", .count(\.connectionsMax, 1...BusServer.slotCount)),
    Setting(
      "Bus", "PayloadMax",
      .size(\.payloadMaxBytes, WireLimits.payloadLengthFloor...WireLimits.payloadLengthCeiling)),
    Setting("Bus", "RegistrationsMax", .count(\.registrationsMax, 1...1 << 24)),
    Setting("Bus", "ObservationsMax", .count(\.observationsMax, 1...1_048_576)),
    Setting("Bus", "DelegatesMax", .count(\.delegatesMax, 1...1_048_576)),
    Setting("Bus", "QueriesMax", .count(\.queriesMax, 1...1_048_576)),
    Setting("Bus", "HelloTimeoutSec", .span(\.helloTimeoutNanoseconds, millisecond...day)),
    Setting("Bus", "FrameTimeoutSec", .span(\.frameTimeoutNanoseconds, millisecond...day)),
    Setting("Bus", "PartialFramesMemoryMax", .size(\.partialFramesMemoryMaxBytes, 64 << 10...1 << 40)),
    Setting("Bus", "LogMax", .size(\.logMaxBytes, 1 << 20...1 << 31)),
    Setting("Queue", "HighMark", .size(\.queue.highMarkBytes, 1...1 << 40)),
    Setting("Queue", "LowMark", .size(\.queue.lowMarkBytes, 0...1 << 40)),
    Setting("Queue", "HardLimit", .size(\.queue.hardLimitBytes, 1...1 << 40)),
    Setting("Queue", "PaceMaxSec", .span(\.queue.paceMaxNanoseconds, 0...10 * second)),
    Setting("Queue", "MemoryMax", .size(\.queue.memoryMaxBytes, 64 << 10...1 << 40)),
    Setting("Notifications", "BufferMax", .size(\.notifications.bufferMaxBytes, 0...1 << 40)),
    Setting("Notifications", "RetainedMax", .size(\.notifications.retainedMaxBytes, 0...1 << 30)),
    Setting("Delegation", "DelegateTimeoutSec", .span(\.delegateTimeoutNanoseconds, millisecond...7 * day)),
    Setting("Delegation", "DeadlineSec", .span(\.deadlineNanoseconds, millisecond...7 * day)),
    Setting("Delegation", "DeadlineMaxSec", .span(\.deadlineMaxNanoseconds, millisecond...7 * day)),
    Setting("Socket", "Mode", .mode(\.socketMode)),
    Setting("Log", "Level", .level(\.logLevel)),
  ]

  private static let millisecond: UInt64 = 1_000_000
  private static let second = 1_000 * millisecond
  private static let day = 86_400 * second

  private init(_ section: String, _ key: String, _ kind: Kind) {
    self.section = section
    self.key = key
    self.kind = kind
  }

  /// Sets the property to the value that `text` states.
  ///
  /// - Throws: `SettingError` if the property cannot have such a value; the property is unchanged then.
  package func set(_ text: String, in configuration: inout Configuration) throws(SettingError) {
    switch kind {
    case .count(let path, let range):
      let count = try SettingSyntax.count(text)
      try check(text, range.contains(count), range.lowerBound.description, range.upperBound.description)
      configuration[keyPath: path] = count
    case .size(let path, let range):
      let size = try SettingSyntax.size(text)
      let bounds = (SettingSyntax.text(size: range.lowerBound), SettingSyntax.text(size: range.upperBound))
      try check(text, range.contains(size), bounds.0, bounds.1)
      configuration[keyPath: path] = size
    case .span(let path, let range):
      let span = try SettingSyntax.span(text)
      let bounds = (SettingSyntax.text(span: range.lowerBound), SettingSyntax.text(span: range.upperBound))
      try check(text, range.contains(span), bounds.0, bounds.1)
      configuration[keyPath: path] = span
    case .mode(let path):
      configuration[keyPath: path] = try SettingSyntax.mode(text)
    case .level(let path):
      configuration[keyPath: path] = try SettingSyntax.level(text)
    }
  }

  /// Sets the property to its value in `other`.
  package func copy(from other: Configuration, to configuration: inout Configuration) {
    switch kind {
    case .count(let path, _), .size(let path, _): configuration[keyPath: path] = other[keyPath: path]
    case .span(let path, _): configuration[keyPath: path] = other[keyPath: path]
    case .mode(let path): configuration[keyPath: path] = other[keyPath: path]
    case .level(let path): configuration[keyPath: path] = other[keyPath: path]
    }
  }

  /// The property's value as written after the key.
  package func text(in configuration: Configuration) -> String {
    switch kind {
    case .count(let path, _): String(configuration[keyPath: path])
    case .size(let path, _): SettingSyntax.text(size: configuration[keyPath: path])
    case .span(let path, _): SettingSyntax.text(span: configuration[keyPath: path])
    case .mode(let path): SettingSyntax.text(mode: configuration[keyPath: path])
    case .level(let path): configuration[keyPath: path].name
    }
  }

  private func check(
    _ text: String, _ isInRange: Bool, _ least: String, _ most: String
  ) throws(SettingError) {
    guard isInRange else { throw SettingError(text, "is out of range (\(least) to \(most))") }
  }
}

nonisolated extension Configuration {
  /// The configuration as a file with the same meaning.
  package var text: String {
    var lines: [String] = []
    var section = ""
    for setting in Setting.all {
      if setting.section != section {
        if !section.isEmpty { lines.append("") }
        section = setting.section
        lines.append("[\(section)]")
      }
      lines.append("\(setting.key)=\(setting.text(in: self))")
    }
    lines += SubjectSection.lines(of: self)
    return lines.joined(separator: "\n") + "\n"
  }
}
