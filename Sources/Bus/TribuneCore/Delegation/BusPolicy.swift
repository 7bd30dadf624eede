// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

package struct BusPolicy: Equatable, Sendable {
  package struct QueryRule: Equatable, Sendable {
    package var pattern: Pattern
    /// The bus vetoes a query unless each of these delegates is attached, and responds to the query's name.
    package var required: [RequiredDelegate]
    /// If true, the bus vetoes a query without an approval and without a veto.
    package var vetoesByDefault: Bool

    package init(pattern: Pattern, required: [RequiredDelegate] = [], vetoesByDefault: Bool = false) {
      self.pattern = pattern
      self.required = required
      self.vetoesByDefault = vetoesByDefault
    }

    fileprivate var isEmpty: Bool { required.isEmpty && !vetoesByDefault }

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
      queryRules.append(rule)
    }
  }
}
