// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension Bus {
  private static let comparedMax = 1000

  /// A similar name of a delegate, a hold or a query rule, if the connection is permitted to list or ask this
  /// name. Else a similar well-known name, or an empty text.
  func similarName(to name: RawSpan, for slot: ConnectionSlot) -> String {
    var found = ""
    var left = Self.comparedMax
    func compare(_ pattern: Pattern, _ object: String?) {
      left -= 1
      guard let meant = pattern.name(meantBy: name), found.isEmpty || meant < found else { return }
      if mayFollow(Pattern(accepted: meant), object: object, from: slot) { found = meant }
    }
    for place in 0..<connections.placeCount where left > 0 && chains.count + holds.count > 0 {
      let other = ConnectionSlot(index: place)
      guard connections.has(other) else { continue }
      for delegate in connections[other].delegates.values {
        for pattern in delegate.patterns { compare(pattern, delegate.objectFilter) }
      }
      for hold in connections[other].holds.values { compare(hold.pattern, hold.object) }
    }
    if !policy.queryRules.contains(where: { $0.pattern.isLiteral && $0.pattern.matches(name) }) {
      for rule in policy.queryRules { compare(rule.pattern, nil) }
    }
    return found.isEmpty ? WellKnownQuestions.similar(to: name) ?? "" : found
  }
}
