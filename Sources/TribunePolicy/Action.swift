// SPDX-License-Identifier: Apache-2.0

/// Something that a policy can allow or deny. The numbers are the wire's.
package enum Action: UInt8, CaseIterable, Sendable {
  case post = 0
  /// Post a notification that the bus retains.
  case retain = 1
  case observe = 2
  /// Ask delegates, or query them for values.
  case ask = 3
  case delegate = 4
  /// Replace the delegates of other users.
  case set = 5
  case hold = 6
  /// Override vetoes.
  case override = 7
  /// Declare the protocol of an object, or define protocols.
  case declare = 8
  case monitor = 9
  case list = 10

  package var name: String { "\(self)" }

  package init?(name: some StringProtocol) {
    guard let action = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = action
  }
}

package struct ActionSet: OptionSet, Hashable, Sendable {
  package let rawValue: UInt16

  package init(rawValue: UInt16) { self.rawValue = rawValue }

  package init(_ action: Action) { rawValue = 1 << UInt16(action.rawValue) }

  package static let all = ActionSet(rawValue: 1 << UInt16(Action.allCases.count) - 1)

  @inline(__always) package func contains(_ action: Action) -> Bool {
    rawValue & (1 << UInt16(action.rawValue)) != 0
  }
}
