// SPDX-License-Identifier: Apache-2.0

import TribuneService

/// A required relation between two settings.
nonisolated struct SettingRule: Sendable {
  let severity: Diagnostic.Severity
  let keys: [String]
  private let relation: String
  private let consequence: String
  private let isKept: @Sendable (Configuration) -> Bool

  static let all: [SettingRule] = [
    SettingRule(.error, "LowMark", "is not below", "HighMark") {
      $0.queue.lowMarkBytes < $0.queue.highMarkBytes
    },
    SettingRule(.error, "HighMark", "is over", "HardLimit") {
      $0.queue.highMarkBytes <= $0.queue.hardLimitBytes
    },
    SettingRule(.error, "DeadlineSec", "is over", "DeadlineMaxSec") {
      $0.deadlineNanoseconds <= $0.deadlineMaxNanoseconds
    },
    SettingRule(
      .warning, "PayloadMax", "is over", "PartialFramesMemoryMax", "the longest payloads never arrive"
    ) { $0.payloadMaxBytes <= $0.partialFramesMemoryMaxBytes },
    SettingRule(
      .warning, "PayloadMax", "is over", "HardLimit",
      "the longest payloads close the connections of their receivers"
    ) { $0.payloadMaxBytes <= $0.queue.hardLimitBytes },
    SettingRule(
      .warning, "RetainedMax", "is over", "LogMax", "retained notifications can fill the log"
    ) { $0.notifications.retainedMaxBytes <= $0.logMaxBytes },
  ]

  private init(
    _ severity: Diagnostic.Severity, _ one: String, _ relation: String, _ other: String,
    _ consequence: String = "", isKept: @escaping @Sendable (Configuration) -> Bool
  ) {
    self.severity = severity
    keys = [one, other]
    self.relation = relation
    self.consequence = consequence
    self.isKept = isKept
  }

  /// A message about the violation; nil if `configuration` keeps the rule.
  func violation(in configuration: Configuration) -> String? {
    guard !isKept(configuration) else { return nil }
    let settings = keys.map { key in
      guard let text = Configuration.sections.flatMap(\.settings).first(where: { $0.name == key })?.text
      else { preconditionFailure("\(key)= is no setting whose value can be written") }
      return "\(key)=\(text(configuration))"
    }
    return settings.joined(separator: " \(relation) ") + (consequence.isEmpty ? "" : ": \(consequence)")
  }
}
