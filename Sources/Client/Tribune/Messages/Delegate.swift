// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// An object that is asked before something happens, and can veto it.
///
/// As in Cocoa, a connection does not retain its delegates. A delegate can be a class, an actor or a class on the
/// main actor.
///
/// The connection calls the delegate's methods on the connection's thread, because a quick answer then wakes no other
/// thread. After its first suspension, a method continues on Swift's threads; an actor's methods run there from the
/// start. The connection receives no frames until the method suspends. After about 10 ms without a suspension, another
/// thread takes over receiving. The connection then calls delegates on Swift's threads until the first thread is free.
public protocol Delegate: AnyObject, Sendable {
  /// Answers a question. Questions to one delegate may overlap.
  ///
  /// If the bus withdraws the question before the answer, or if the connection is interrupted, the library cancels the
  /// task and discards the answer. The task may see the cancellation only after its first suspension. The library turns
  /// a thrown error into ``Answer/failed(_:)`` with the error's text.
  func answer(_ question: Question) async throws -> Answer

  /// Reports the end of a query in which this delegate was asked, so the delegate can undo its preparations.
  ///
  /// The library calls this method once for each question, after `answer` has returned, unless ``Attachment/detach()``
  /// withdrew the question. The ending is ``Conclusion/Ending/cancelled`` if the connection ends or is interrupted, or
  /// another delegate replaces this one, before the bus reports the end of the query. The default implementation is
  /// empty.
  func concluded(_ conclusion: Conclusion) async

  /// Receives a notification that something is about to happen, or has happened, as a window's delegate does in
  /// AppKit.
  ///
  /// The delegate receives a notification if it responds to the name, and the name's last token is `will` or `did` and
  /// a verb, as in `window.didClose`. If the delegate and the notification both have an object, the two objects must be
  /// equal. The delegate also receives reports of lost notifications.
  ///
  /// Each attachment receives one delivery at a time, in the order of each poster's posts. Before the library delivers
  /// a notification, it calls `answer` for all earlier questions. An actor has these questions and the notification in
  /// its queue in this order. A question does not wait for earlier notifications.
  ///
  /// While a delegate is busy, the library buffers at most 4,096 deliveries for it, with 64 MiB of userInfo. Beyond
  /// that, it drops the oldest deliveries and reports them as lost. The default implementation is empty.
  func received(_ delivery: Delivery) async

  /// Reports that another delegate has replaced this one. The report is the last delivery to this delegate.
  ///
  /// The default implementation prints the replacement to standard error, because a lost veto must not go unnoticed.
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
  /// Vetoes with this reason.
  case veto(String)
  case abstain
  /// The delegate failed with this error. Its ``FailurePolicy`` decides the effect.
  case failed(String)
  /// Gives a value. If the question does not want a value (``Question/wantsValue``), the answer is a failure.
  case value(UserInfo)
}

/// The effect of a delegate's timeout, lost connection or error.
public enum FailurePolicy: String, Hashable, Sendable, CaseIterable {
  case veto
  case abstain
}

/// The asker, as the kernel and systemd identify it.
public struct Asker: Hashable, Sendable {
  /// The process id that the kernel recorded when the process connected.
  public var pid: Int32
  /// The user id when the process connected.
  public var uid: UInt32
  /// The name of the process (comm), at most 15 bytes; empty if the process ended before the bus could read it.
  public var process: String
  public var units: Units
  /// The same as `units.primary`.
  public var unit: String { units.primary }
  /// The id of the asker's connection, such as `:7`.
  public var connection: String

  /// Makes an asker, for tests.
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

/// A query, as the bus puts it to one delegate.
public struct Question: Sendable {
  /// The query's id, which the bus never uses again. A nested query gives it as its `parent`.
  public let query: UInt64
  /// The question's name, such as `window.shouldClose`.
  public let name: String
  /// The question's object; empty for none.
  public let object: String
  public let userInfo: UserInfo
  /// The time for the answer, which ``deferAnswer(by:status:)`` extends.
  public let timeout: Duration
  public let asker: Asker
  /// True if no action follows, whatever the verdict.
  public let isDryRun: Bool
  /// True if the asker wants a value (``Answer/value(_:)``) instead of permission.
  public let wantsValue: Bool
  /// The delegate's id (``Attachment/id``).
  public let delegate: UInt64

  /// Nil for a question that a test made.
  var link: Link?
  /// The epoch of the connection (`LinkState.epoch`) in which the question arrived.
  var epoch = 0

  /// Makes a question, for tests. Deferring its answer has no effect.
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
  ///   - extension: the new time for the answer, from now.
  ///   - status: a status text for the asker, truncated at 4,096 bytes.
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
    /// The asker took the query back or disconnected, or this delegate can no longer learn how the query ended.
    case cancelled
  }

  public var query: UInt64
  public var ending: Ending

  /// Makes a conclusion, for tests.
  public init(query: UInt64, ending: Ending) {
    self.query = query
    self.ending = ending
  }
}
