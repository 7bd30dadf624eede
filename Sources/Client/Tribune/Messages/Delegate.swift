// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// An object that is asked before something happens, and can veto it.
///
/// As in Cocoa, a connection does not retain its delegates. A delegate can be a class, an actor or a class on the
/// main actor.
///
/// Its methods start on the connection's thread, because a quick answer then wakes no other thread. After the first
/// suspension, and on an actor from the start, they run on Swift's threads. The connection does not receive until the
/// method suspends. If that takes more than about 10 ms, another thread takes over receiving, and delegates are called
/// on Swift's threads until the first thread is free again.
public protocol Delegate: AnyObject, Sendable {
  /// Answers a question. Questions to one delegate may overlap.
  ///
  /// If the question is withdrawn before the answer, or the connection is interrupted, the task is cancelled, at its
  /// first suspension at the latest, and the answer is discarded. A thrown error is an ``Answer/failed(_:)`` with the
  /// error's text.
  func answer(_ question: Question) async throws -> Answer

  /// Reports the end of a query in which this delegate was asked: it can undo its preparations.
  ///
  /// Called once for each question, after `answer` has returned, unless ``Attachment/detach()`` withdrew the question.
  /// If the connection ends or is interrupted, or another delegate replaces this one, before the bus reports the end of
  /// the query, the ending is ``Conclusion/Ending/cancelled``. Empty by default.
  func concluded(_ conclusion: Conclusion) async

  /// Receives a notification that something is about to happen, or has happened, as a window's delegate does in
  /// AppKit.
  ///
  /// The delegate receives notifications about its object, or about any, whose names it responds to and whose last
  /// token is `will` or `did` and a verb, as in `window.didClose`. It also receives reports of lost notifications.
  /// Each attachment receives in the posters' order, one delivery at a time. Before a notification is delivered,
  /// `answer` starts for all earlier questions (an actor has both in its queue in that order). A question does not
  /// wait for earlier notifications.
  ///
  /// While a delegate is busy, at most 4,096 deliveries, of 64 MiB together, are buffered for it. Beyond that, the
  /// oldest are dropped and reported as lost. Empty by default.
  func received(_ delivery: Delivery) async

  /// Reports that another delegate was set in this one's place: this is its last delivery. By default, prints that to
  /// standard error: a lost veto must not go unnoticed.
  func replaced(by delegate: DelegateInfo) async
}

extension Delegate {
  public func concluded(_ conclusion: Conclusion) async {}
  public func received(_ delivery: Delivery) async {}
  public func replaced(by delegate: DelegateInfo) async {
    let who = [delegate.label, delegate.process].first { !$0.isEmpty } ?? "another delegate"
    StandardError.writeLine(
      "tribune: a delegate is not in force any more: \(who.escaped) (pid \(delegate.pid)) was set in its place"
    )
  }
}

public enum Answer: Hashable, Sendable {
  case approve
  /// Vetoes, with the reason.
  case veto(String)
  case abstain
  /// The delegate failed, with this error; the ``FailurePolicy`` decides.
  case failed(String)
  /// Gives a value. If the question does not want one (``Question/wantsValue``), this is a failure.
  case value(UserInfo)
}

/// The effect of a delegate's timeout, lost connection or error.
public enum FailurePolicy: String, Hashable, Sendable, CaseIterable {
  case veto
  case abstain
}

/// The asker, as the kernel and systemd identify it.
public struct Asker: Hashable, Sendable {
  /// As the kernel recorded it when it connected.
  public var pid: Int32
  /// When it connected.
  public var uid: UInt32
  /// The comm, at most 15 bytes; empty if the process ended before it could be read.
  public var process: String
  public var units: Units
  /// `units.primary`.
  public var unit: String { units.primary }
  /// `:N`.
  public var connection: String

  /// For tests.
  public init(
    pid: Int32 = 0, uid: UInt32 = 0, process: String = "", units: Units = Units(), connection: String = ":0"
  ) {
    self.pid = pid
    self.uid = uid
    self.process = process
    self.units = units
    self.connection = connection
  }
}

/// A query, as it is put to one delegate.
public struct Question: Sendable {
  /// Never used again. A nested query names it as its `parent`.
  public let query: UInt64
  /// Such as `window.shouldClose`.
  public let name: String
  /// Empty for none.
  public let object: String
  public let userInfo: UserInfo
  /// The time for the answer, unless the delegate defers.
  public let timeout: Duration
  public let asker: Asker
  /// No action follows, whatever the verdict.
  public let isDryRun: Bool
  /// The asker wants a value (``Answer/value(_:)``) instead of permission.
  public let wantsValue: Bool
  /// ``Attachment/id``.
  public let delegate: UInt64

  /// Nil for a question that was made locally.
  var link: Link?
  /// `LinkState.epoch`.
  var epoch = 0

  /// For tests. Deferring its answer has no effect.
  public init(
    _ name: String, object: String = "", userInfo: UserInfo = .none, query: UInt64 = 1,
    timeout: Duration = .seconds(5), asker: Asker = Asker(), isDryRun: Bool = false, wantsValue: Bool = false,
    delegate: UInt64 = 1
  ) {
    self.query = query
    self.name = name
    self.object = object
    self.userInfo = userInfo
    self.timeout = timeout
    self.asker = asker
    self.isDryRun = isDryRun
    self.wantsValue = wantsValue
    self.delegate = delegate
  }

  /// Asks for more time, within the asker's deadline, and informs the asker.
  ///
  /// - Parameters:
  ///   - extension: the time until the answer, from now.
  ///   - status: for the asker; truncated at 4,096 bytes.
  /// - Throws: ``TribuneError/Code/notFound`` when the question has been answered or withdrawn;
  ///   ``TribuneError/Code/connectionLost``.
  public func deferAnswer(by extension: Duration, status: String = "") async throws(TribuneError) {
    try link?.deferAnswer(to: self, by: `extension`, status: status)
  }
}

/// The end of a query, for a delegate that was asked in it.
public struct Conclusion: Hashable, Sendable {
  public enum Ending: String, Hashable, Sendable, CaseIterable {
    /// The action may happen now.
    case allowed
    case vetoed
    /// The asker took the query back or disconnected, or this delegate can no longer learn how it ended.
    case cancelled
  }

  public var query: UInt64
  public var ending: Ending

  /// For tests.
  public init(query: UInt64, ending: Ending) {
    self.query = query
    self.ending = ending
  }
}
