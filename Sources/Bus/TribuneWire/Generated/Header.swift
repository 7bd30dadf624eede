// SPDX-License-Identifier: Apache-2.0
//
// Made by "make wire" from docs/tribune.wire. Change that instead.

/// The kinds of frames.
package enum FrameKind: UInt8, Sendable, CaseIterable {
  /// The client's id, and the bus's limits.
  case welcome = 1
  /// A refusal.
  case error = 2
  /// The bus has carried out a frame.
  case ok = 3
  /// A notification.
  case post = 4
  /// The bus has dropped notifications.
  case lost = 5
  /// An observation.
  case observe = 6
  /// Joins a delegate chain.
  case attach = 7
  /// A query.
  case ask = 8
  /// Asks one delegate.
  case question = 9
  /// The delegate's answer.
  case answer = 10
  /// The delegate needs more time.
  case `defer` = 11
  /// The state of a query with one delegate.
  case progress = 12
  /// The result of a query.
  case verdict = 13
  /// How a query ended.
  case concluded = 14
  /// Ends a registration, query, awaited post or action.
  case cancel = 15
  /// Asks for a list.
  case list = 16
  /// One item of a list.
  case entry = 17
  /// Asks for copies of frames from and to clients.
  case monitor = 18
  /// A frame that passed over the bus.
  case traffic = 19
  /// A standing veto.
  case hold = 20
  /// The bus has ended a registration.
  case ended = 21
  /// Declares an object's protocol; defines protocols.
  case declare = 22
  /// Suspends or resumes notifications.
  case suspend = 23
  /// A retained notification.
  case retained = 24
  /// Acknowledges an awaited notification.
  case done = 25
  /// Which observers have handled an awaited notification.
  case awaited = 26
  /// Replaces a connection that a restart ended.
  case succeed = 27
  /// Changes the reason of a hold.
  case amend = 28
  /// The identity of a poster.
  case poster = 29
  /// How many notifications the client accepts.
  case room = 30
  /// How long this connection's posts may wait for slow observers.
  case pace = 31
  /// Registers an action that is under way, or that waits to begin.
  case begin = 32
  /// How many actions under way began before a hold.
  case late = 33
}

extension FrameKind {
  /// What the bus remembers of a frame; nil if clients do not send it.
  @inlinable package var effect: Effect? {
    switch self {
    case .post, .list, .succeed, .room, .pace: .passes
    case .observe, .monitor: .observes
    case .attach, .hold, .declare, .amend: .decides
    case .suspend: .suspends
    case .cancel: .cancels
    case .ask, .begin: .asks
    case .answer, .`defer`, .done: .answers
    case .welcome, .error, .ok, .lost, .question, .progress, .verdict, .concluded, .entry, .traffic, .ended,
      .retained, .awaited, .poster, .late:
      nil
    }
  }
  /// Whether one can be much work; nil if clients do not send it.
  @inlinable package var workload: Workload? {
    switch self {
    case .attach, .ask, .`defer`, .list, .monitor, .hold, .declare, .suspend, .succeed, .amend, .begin: .long
    case .post, .observe: .longFields
    case .answer, .cancel, .done, .room, .pace: .longPayload
    case .welcome, .error, .ok, .lost, .question, .progress, .verdict, .concluded, .entry, .traffic, .ended,
      .retained, .awaited, .poster, .late:
      nil
    }
  }
  /// The name under which monitors see a frame; nil if clients do not send it.
  @inlinable package var shownName: ShownName? {
    switch self {
    case .post, .ask, .begin: .named
    case .answer, .`defer`: .namedByQuery
    case .done: .namedByPost
    case .observe, .attach, .cancel, .list, .monitor, .hold, .declare, .suspend, .succeed, .amend, .room,
      .pace:
      .unnamed
    case .welcome, .error, .ok, .lost, .question, .progress, .verdict, .concluded, .entry, .traffic, .ended,
      .retained, .awaited, .poster, .late:
      nil
    }
  }
}

/// Flags of a frame.
package struct FrameFlags: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// In another module, an empty literal takes about 1,000 instructions, because the compiler does not see the
  /// set's implementation there.
  package static var none: FrameFlags { FrameFlags(rawValue: 0) }
  /// The sender wants an `ok` when the bus has taken the frame.
  package static let acknowledge = FrameFlags(rawValue: 1)
  /// UserInfo is in a descriptor sent with the frame; the payload is empty.
  package static let descriptor = FrameFlags(rawValue: 2)
  /// A receiver that does not know the frame's kind must close the connection.
  package static let critical = FrameFlags(rawValue: 128)

  /// Other modules would call the standard library's implementation through witness tables.
  @inlinable package func contains(_ member: FrameFlags) -> Bool {
    rawValue & member.rawValue == member.rawValue
  }
}

/// Why the bus refuses a frame or closes a connection.
package enum ErrorCode: UInt16, Sendable, CaseIterable {
  /// The first bytes are not a Tribune hello.
  case badMagic = 1
  case unsupportedVersion = 2
  /// Fields or payload over a limit.
  case frameTooLong = 3
  /// The frame's lengths contradict each other, or its fields end too early.
  case malformedFrame = 4
  /// An unknown kind with the flag *critical*.
  case unknownCriticalKind = 5
  case helloTimeout = 6
  case frameTimeout = 7
  /// Descriptors that no frame can use, or too many.
  case unexpectedDescriptors = 8
  /// Unread frames that cannot be dropped exceed the hard limit.
  case tooSlow = 9
  /// The user's share of connections is used up.
  case tooManyConnections = 10
  /// Memory is short; incomplete frames take too much memory or too many descriptors; or too many refused descriptors
  /// of the user are still open.
  case outOfMemory = 11
  /// The bus is stopping.
  case shuttingDown = 12
  case missingDescriptor = 13
  /// The connection did not survive a restart.
  case restarted = 14
  /// Bytes after a `hold` or `begin` with *isLast*.
  case afterLast = 15
  /// An unknown kind, or one that only the bus sends.
  case unknownKind = 64
  case invalidName = 65
  case invalidPattern = 66
  case invalidObject = 67
  /// A value that is not allowed, or over a limit.
  case invalidValue = 68
  /// The name begins with `tribune.`.
  case reservedName = 69
  case duplicateSerial = 70
  /// No such connection, registration, query, action, awaited post or list.
  case notFound = 71
  /// The query does not wait for this answer or `defer`, or the post for this `done`.
  case notAsked = 72
  /// Over a limit, or the bus's log has no room for the frame.
  case limitExceeded = 73
  /// The client cancelled the query or awaited post, or a restart interrupted the list.
  case cancelled = 74
  /// The query is nested in one of the same name and object, or too deeply.
  case recursion = 75
  /// The policy does not allow it ([ACCESS.md](ACCESS.md)).
  case notPermitted = 76
  case unknownProtocol = 77
  /// The text has mistakes; the message has lines and columns.
  case invalidProtocol = 78
  /// The delegate does not conform; the message has all reasons.
  case notConforming = 79
  /// The object's protocol has no such method.
  case unknownName = 80
  /// UserInfo does not fit the method; the message names the field.
  case invalidParameter = 81
  /// A different definition or declaration exists, or an equal delegate.
  case conflict = 82
  /// Not a sealed memfd of the stated length.
  case invalidDescriptor = 83
}
