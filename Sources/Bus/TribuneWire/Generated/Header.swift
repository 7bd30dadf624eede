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
  /// Notifications were dropped here.
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
  /// Takes a registration or query back.
  case cancel = 15
  /// Asks for a list.
  case list = 16
  /// One item of a list.
  case entry = 17
  /// Asks for a copy of all frames.
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
  /// Who has handled an awaited notification.
  case awaited = 26
  /// Replaces a connection that ended.
  case succeed = 27
  /// Changes the reason of a hold.
  case amend = 28
  /// The facts about a poster.
  case poster = 29
  /// How many notifications the client takes.
  case room = 30
  /// How long this connection's posts wait for slow observers.
  case pace = 31
  /// An action is under way over this connection.
  case begin = 32
  /// How many actions under way a hold is too late for.
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
  /// The frame's userInfo is in a descriptor that comes with it; the payload is empty.
  package static let descriptor = FrameFlags(rawValue: 2)
  /// A receiver that does not know the frame's kind must close the connection.
  package static let critical = FrameFlags(rawValue: 128)

  /// Other modules would call the standard library's implementation through witness tables.
  @inlinable package func contains(_ member: FrameFlags) -> Bool {
    rawValue & member.rawValue == member.rawValue
  }
}

/// Why a frame or a connection is refused.
package enum ErrorCode: UInt16, Sendable, CaseIterable {
  /// The first bytes are not a Tribune hello.
  case badMagic = 1
  case unsupportedVersion = 2
  /// Fields or payload over a limit.
  case frameTooLong = 3
  /// Lengths that do not fit each other; fields that end inside one.
  case malformedFrame = 4
  /// An unknown kind, marked critical.
  case unknownCriticalKind = 5
  case helloTimeout = 6
  case frameTimeout = 7
  /// Descriptors without a frame.
  case unexpectedDescriptors = 8
  /// Unread frames that cannot be dropped exceed the hard limit.
  case tooSlow = 9
  /// As many connections as the setting allows.
  case tooManyConnections = 10
  /// Memory is short; partial frames take too much memory or too many descriptors; or too many refused descriptors of
  /// this user close slowly.
  case outOfMemory = 11
  /// The bus ends.
  case shuttingDown = 12
  case missingDescriptor = 13
  /// The bus was restarted (see *Restart*).
  case restarted = 14
  /// Bytes behind the last frame, as a `hold` or `begin` can be.
  case afterLast = 15
  /// An unknown kind, or one that only the bus sends.
  case unknownKind = 64
  case invalidName = 65
  case invalidPattern = 66
  case invalidObject = 67
  /// A number that its field does not have, or over a limit.
  case invalidValue = 68
  /// A name of the bus.
  case reservedName = 69
  case duplicateSerial = 70
  /// No such registration, query, awaited post, predecessor or list.
  case notFound = 71
  /// The query does not wait for this answer or `defer`, or the post for this `done`.
  case notAsked = 72
  /// Over a limit; or an `attach`, `hold`, `declare` or `ask` that the bus cannot remember over a restart.
  case limitExceeded = 73
  /// A query or wait was cancelled, or a list by a restart.
  case cancelled = 74
  /// Nested in a query of the same name and object, or in too many.
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
  /// Another definition, declaration or equal delegate exists.
  case conflict = 82
  /// Not a sealed memfd of the stated length.
  case invalidDescriptor = 83
}
