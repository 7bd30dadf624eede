// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The configured policy for queries.
package struct BusPolicy: Equatable, Sendable {
  /// Delegates that must be attached for a query.
  package struct Requirement: Equatable, Sendable {
    /// The queries to which it applies.
    package var pattern: Pattern
    /// Labels or systemd units. For each, a delegate that has it must respond to the query.
    package var names: [String]

    package init(pattern: Pattern, names: [String]) {
      self.pattern = pattern
      self.names = names
    }
  }

  /// Users who may override vetoes.
  package enum Overriders: Equatable, Sendable {
    case everyone
    /// User ids.
    case users(Set<UInt32>)

    func contains(_ user: UInt32) -> Bool {
      switch self {
      case .everyone: true
      case .users(let users): users.contains(user)
      }
    }
  }

  package var requirements: [Requirement] = []
  package var overriders = Overriders.everyone

  package init() {}

  /// Required names that none of the delegates has, each once.
  func missing(for name: RawSpan, among delegates: [DelegateRegistration]) -> [String] {
    var missing: [String] = []
    for requirement in requirements where requirement.pattern.matches(name) {
      for name in requirement.names where !missing.contains(name) {
        let isThere = delegates.contains { delegate in
          delegate.identity.label == name || delegate.identity.peer.unit == name
        }
        if !isThere { missing.append(name) }
      }
    }
    return missing
  }
}

extension BusPolicy {
  /// Appends the policy for `init(from:)`.
  func append(to buffer: ByteBuffer) {
    switch overriders {
    case .everyone: buffer.append(true)
    case .users(let users):
      buffer.append(false)
      buffer.append(UInt32(users.count))
      for user in users { buffer.append(user) }
    }
    buffer.append(UInt32(requirements.count))
    for requirement in requirements {
      buffer.appendField(requirement.pattern.text)
      buffer.append(UInt32(requirement.names.count))
      for name in requirement.names { buffer.appendField(name) }
    }
  }

  init(from reader: inout FieldReader) throws(WireError) {
    if try !reader.flag() {
      var users: Set<UInt32> = []
      for _ in 0..<(try reader.integer(UInt32.self)) { users.insert(try reader.integer()) }
      overriders = .users(users)
    }
    for _ in 0..<(try reader.integer(UInt32.self)) {
      var requirement = Requirement(pattern: try Pattern(try reader.text()), names: [])
      for _ in 0..<(try reader.integer(UInt32.self)) { requirement.names.append(try reader.text()) }
      requirements.append(requirement)
    }
  }
}
