// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

package struct BusPolicy: Equatable, Sendable {
  package struct QueryRule: Equatable, Sendable {
    package var pattern: Pattern
    /// The bus vetoes a query unless each of these delegates is attached, and responds to the query's name.
    package var required: [RequiredDelegate]
    /// If true, the bus vetoes a query without an approval and without a veto.
    package var vetoesByDefault: Bool
    /// The longest time for which a hold may veto such a query; nil for any time.
    package var holdMax: TimeSpan?

    package init(
      pattern: Pattern, required: [RequiredDelegate] = [], vetoesByDefault: Bool = false,
      holdMax: TimeSpan? = nil
    ) {
      self.pattern = pattern
      self.required = required
      self.vetoesByDefault = vetoesByDefault
      self.holdMax = holdMax
    }

    fileprivate var isEmpty: Bool { required.isEmpty && !vetoesByDefault && holdMax == nil }

    /// Adds required delegates. An empty list removes all required delegates.
    package mutating func require(_ delegates: [RequiredDelegate]) {
      if delegates.isEmpty { required = [] }
      for delegate in delegates where !required.contains(delegate) { required.append(delegate) }
    }
  }

  package var queryRules: [QueryRule] = []

  package init() {}

  package mutating func change(_ pattern: Pattern, _ body: (inout QueryRule) -> Void) {
    let count = queryRules.count
    let place = queryRules.firstIndex { $0.pattern == pattern } ?? count
    if place == count { queryRules.append(QueryRule(pattern: pattern)) }
    body(&queryRules[place])
    if queryRules[place].isEmpty { queryRules.remove(at: place) }
  }

  func missing(for name: RawSpan, among delegates: [DelegateRegistration]) -> [RequiredDelegate] {
    required(for: name).filter { required in !delegates.contains { required.isMet(by: $0.identity) } }
  }

  func required(for name: RawSpan) -> [RequiredDelegate] {
    var all: [RequiredDelegate] = []
    for rule in queryRules where rule.pattern.matches(name) {
      for required in rule.required where !all.contains(required) { all.append(required) }
    }
    return all
  }

  func vetoesByDefault(_ name: RawSpan) -> Bool {
    queryRules.contains { $0.vetoesByDefault && $0.pattern.matches(name) }
  }

  /// The shortest limit of a query that a hold with this pattern can veto.
  func holdMax(of pattern: Pattern) -> TimeSpan? {
    queryRules.lazy.filter { $0.pattern.overlaps(pattern) }.compactMap(\.holdMax).min()
  }
}

extension BusPolicy {
  private static let defaultVeto = "default:veto"

  func append(to buffer: ByteBuffer) {
    buffer.append(UInt32(queryRules.count))
    for rule in queryRules {
      buffer.appendField(rule.pattern.text)
      let texts = rule.required.map(\.text) + (rule.vetoesByDefault ? [Self.defaultVeto] : [])
      buffer.append(UInt32(texts.count))
      for text in texts { buffer.appendField(text) }
      buffer.append(UInt64(rule.holdMax?.microseconds ?? 0))
    }
  }

  init(from reader: inout FieldReader) throws(WireError) {
    for _ in 0..<(try reader.integer(UInt32.self)) {
      var rule = QueryRule(pattern: try Pattern(try reader.text()))
      for _ in 0..<(try reader.integer(UInt32.self)) {
        let text = try reader.text()
        if text == Self.defaultVeto {
          rule.vetoesByDefault = true
        } else if let delegate = RequiredDelegate(text) {
          rule.required.append(delegate)
        } else {
          throw WireError(.invalidValue, "\"\(text)\" is no required delegate")
        }
      }
      let microseconds: UInt64 = try reader.integer()
      if microseconds > 0 { rule.holdMax = TimeSpan(microseconds: Int64(clamping: microseconds)) }
      queryRules.append(rule)
    }
  }
}
