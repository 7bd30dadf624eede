// SPDX-License-Identifier: Apache-2.0

import TribuneWire

package enum SharedResource: Int, CaseIterable, Sendable {
  case connections
  /// Descriptors of incomplete frames, and files that the bus has not yet passed to all their receivers.
  case descriptors
  /// Bytes of partial frames.
  case partialFrames
  /// Bytes of registrations, and of queries, actions and awaited posts under way.
  case log
  /// Bytes of retained notifications.
  case retained
  /// Observations, monitors, holds, amended reasons, declarations, actions, and each pattern of a delegate.
  case registrations
  /// Protocols that declarations define. Protocols from files do not count.
  case protocols
  /// Bytes of unread frames, and of notifications buffered for suspended connections.
  case queues
  /// Files that the bus has sent, but that the receiver may not have received yet.
  case unreadFiles

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

  package var name: String {
    switch self {
    case .partialFrames: "partial-frames"
    case .unreadFiles: "unread-files"
    default: "\(self)"
    }
  }

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

  var remedy: String { setting.map { " (\($0))" } ?? "" }

  var refusalCode: ErrorCode {
    switch self {
    case .connections: .tooManyConnections
    case .partialFrames: .outOfMemory
    default: .limitExceeded
    }
  }
}

package struct Amounts: Equatable, Sendable {
  private var values = InlineArray<9, Int>(repeating: 0)

  package init() {}

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
