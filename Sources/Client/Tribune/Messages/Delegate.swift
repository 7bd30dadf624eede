// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// An object that the bus asks before an action, and that can veto the action.
///
/// As in Cocoa, a connection does not retain its delegates. A delegate can be an actor, or an instance of a
/// class, also of a class on the main actor.
///
/// The connection calls the delegate's methods on the thread that receives the connection's frames, because
/// waking another thread would delay a quick answer. Until the method suspends or returns, the connection
/// receives no frames. If the method does neither within 10 to 20 ms, another thread takes over receiving.
/// From then until the method suspends or returns, the connection calls delegates on Swift's thread pool.
/// After its first suspension, a method continues on Swift's thread pool. An actor's methods run on the
/// actor's executor from the start.
public protocol Delegate: AnyObject, Sendable {
  /// Answers a question. The library can call this method again before an earlier call has returned.
  ///
  /// If the bus withdraws the question before the answer, or if the connection is interrupted, the library
  /// cancels the method's task and discards the answer. `Task.isCancelled` can be false until the first
  /// suspension. If the method throws, the library answers ``Answer/failed(_:)`` with the error's text.
  func answer(_ question: Question) async throws -> Answer

  /// Reports the end of a query in which the bus asked this delegate. After a veto, for example, the delegate
  /// can undo preparations.
  ///
  /// The library calls this method once for each question, after `answer` has returned, unless
  /// ``Attachment/detach()`` withdrew the question. The ending is ``Conclusion/Ending/cancelled`` if the bus
  /// cannot report the end, because the connection ended or was interrupted, or because another delegate
  /// replaced this delegate. The default implementation is empty.
  func concluded(_ conclusion: Conclusion) async

  /// Receives a will- or did-notification, or a report of lost notifications.
  ///
  /// To receive a notification, the delegate must respond to the notification's name. The name's last token
  /// must be `will` or `did` followed by a verb, as in `window.didClose`. If the delegate and the
  /// notification both have an object, the two objects must be equal.
  ///
  /// Each attachment receives one delivery at a time. Before the library delivers a notification, it calls
  /// `answer` for all questions that arrived before the notification. For an actor, the library enqueues the
  /// calls on the actor in this order. A question does not wait for notifications that arrived before the
  /// question.
  ///
  /// While the delegate is busy, the library buffers at most 4,096 deliveries, and 64 MiB of userInfo. Beyond
  /// these limits, the library drops the oldest deliveries and reports them as lost. The default
  /// implementation is empty.
  func received(_ delivery: Delivery) async

  /// Reports that another delegate has replaced this one. The report is the last delivery of the attachment.
  ///
  /// The default implementation prints the replacement to standard error, because the user should notice that
  /// this delegate can no longer veto.
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
  /// The delegate failed with this error. The delegate's ``FailurePolicy`` decides the effect.
  case failed(String)
  /// Gives a value. If the question does not want a value (``Question/wantsValue``), this answer counts as
  /// failed.
  case value(UserInfo)
}

/// The effect of a delegate's timeout, lost connection or error on the verdict.
public enum FailurePolicy: String, Hashable, Sendable, CaseIterable {
  case veto
  case abstain
}

/// The process that asked a query, as the kernel and systemd identify it.
public struct Asker: Hashable, Sendable {
  /// The process id that the kernel recorded when the process connected.
  public var pid: Int32
  /// The user id of the process when it connected.
  public var uid: UInt32
  /// The process's name (comm), at most 15 bytes; empty if the process ended before the bus read the name.
  public var process: String
  public var units: Units
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
  /// The query's id, which the bus never uses again. To ask a nested query, pass this id as the `parent`.
  public let query: UInt64
  /// The question's name, such as `window.shouldClose`.
  public let name: String
  /// The question's object; empty for none.
  public let object: String
  public let userInfo: UserInfo
  /// The time for the answer. ``deferAnswer(by:status:)`` can extend it.
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
  /// The epoch (`LinkState.epoch`) in which the question arrived.
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

  /// Asks for more time, and sends the asker the status. The new time never passes the asker's deadline.
  ///
  /// - Parameters:
  ///   - extension: the new time for the answer, counted from now.
  ///   - status: a status text for the asker, truncated at 4,096 bytes.
  /// - Throws: ``TribuneError/Code/notFound`` when the question has been answered or withdrawn;
  ///   ``TribuneError/Code/connectionLost``.
  public func deferAnswer(by extension: Duration, status: String = "") async throws(TribuneError) {
    try link?.deferAnswer(to: self, by: `extension`, status: status)
  }
}

/// A report to an asked delegate about how a query ended.
public struct Conclusion: Hashable, Sendable {
  public enum Ending: String, Hashable, Sendable, CaseIterable {
    /// The verdict is *allowed*, or the value query got a value.
    case allowed
    case vetoed
    /// The asker withdrew the query or disconnected, or this delegate can no longer learn the ending.
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
