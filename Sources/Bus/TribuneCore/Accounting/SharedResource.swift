// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// What all users of the bus share, and each may have a share of.
package enum SharedResource: Int, CaseIterable, Sendable {
  case connections
  /// Descriptors that wait for the rest of their frames, and files that a receiver still needs.
  case descriptors
  /// Bytes reserved for frames of which the rest is yet to come.
  case partialFrames
  /// Bytes kept over a restart: registrations, and queries and awaited posts under way.
  case log
  /// Bytes of retained notifications.
  case retained
  /// Observations, monitors, patterns of delegates, holds and declarations.
  case registrations
  /// Protocols that declarations have defined. Those in files count for nobody.
  case protocols
  /// Bytes of frames that a user's connections have not read, and of notifications buffered for suspended ones.
  case queues
  /// Files that were sent to a user's connections, and that these may not have received.
  case unreadFiles

  /// What an amount counts, in the plural.
  var unit: String {
    switch self {
    case .connections: "connections"
    case .descriptors: "descriptors under way"
    case .partialFrames: "bytes of partial frames"
    case .log: "bytes of the log"
    case .retained: "bytes of retained notifications"
    case .registrations: "registrations"
    case .protocols: "protocols"
    case .queues: "unread bytes"
    case .unreadFiles: "unread files"
    }
  }

  /// The name in lists.
  package var name: String {
    switch self {
    case .partialFrames: "partial-frames"
    case .unreadFiles: "unread-files"
    default: "\(self)"
    }
  }

  /// The setting that sets the total; nil if none does.
  private var setting: String? {
    switch self {
    case .connections: "ConnectionsMax="
    case .partialFrames: "PartialFramesMemoryMax="
    case .log: "LogMax="
    case .retained: "RetainedMax="
    case .registrations: "RegistrationsMax="
    case .queues: "MemoryMax="
    case .descriptors, .protocols, .unreadFiles: nil
    }
  }

  /// The setting in parentheses, to be appended to a message.
  var remedy: String { setting.map { " (\($0))" } ?? "" }

  /// The error by which more is refused.
  var refusalCode: ErrorCode {
    switch self {
    case .connections: .tooManyConnections
    case .partialFrames: .outOfMemory
    default: .limitExceeded
    }
  }
}

/// An amount of each shared resource.
package struct Amounts: Equatable, Sendable {
  private var values = InlineArray<9, Int>(repeating: 0)

  package init() {}

  /// - Parameter each: the amount of every resource.
  init(each: Int) { values = InlineArray(repeating: each) }

  package subscript(_ resource: SharedResource) -> Int {
    @inline(__always) get { values[resource.rawValue] }
    @inline(__always) set { values[resource.rawValue] = newValue }
  }

  var isZero: Bool { self == Amounts() }

  package static func == (left: Amounts, right: Amounts) -> Bool {
    SharedResource.allCases.allSatisfy { left[$0] == right[$0] }
  }
}
