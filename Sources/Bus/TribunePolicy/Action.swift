// SPDX-License-Identifier: Apache-2.0

package enum Action: UInt8, CaseIterable, Sendable {
  case post
  /// Post a notification that the bus retains.
  case retain
  case observe
  /// Ask delegates for permission, or query them for values.
  case ask
  case delegate
  /// Replace the delegates of other users.
  case set
  case hold
  case override
  /// Begin an action before holds that come later.
  case claim
  /// Declare the protocol of an object, or define protocols.
  case declare
  case monitor
  case list

  package static let names = allCases.map { "\($0)" }

  package var name: String { Self.names[Int(rawValue)] }

  package var needed: Action? {
    switch self {
    case .retain: .post
    case .override, .claim: .ask
    case .set: .delegate
    case .post, .observe, .ask, .delegate, .hold, .declare, .monitor, .list: nil
    }
  }

  package init?(name: String) {
    guard let number = Self.names.firstIndex(of: name) else { return nil }
    self = Self.allCases[number]
  }
}

package struct ActionSet: OptionSet, Hashable, Sendable {
  package let rawValue: UInt16

  package init(rawValue: UInt16) { self.rawValue = rawValue }

  package init(_ action: Action) { rawValue = 1 << UInt16(action.rawValue) }

  /// Actions that can concern questions. A delegate can also respond to value queries, and to names that end
  /// in *will* or *did* and a verb.
  static let aboutQuestions = [.ask, .delegate, .set, .hold, .override, .claim].reduce(into: ActionSet()) {
    $0.insert(ActionSet($1))
  }
  /// Actions that concern only questions.
  static let onlyAboutQuestions: ActionSet = [
    ActionSet(.hold), ActionSet(.override), ActionSet(.claim),
  ]
  package static let all = ActionSet(rawValue: 1 << UInt16(Action.allCases.count) - 1)

  @inline(__always) package func contains(_ action: Action) -> Bool {
    rawValue & (1 << UInt16(action.rawValue)) != 0
  }
}
