// SPDX-License-Identifier: Apache-2.0

/// Somebody who is asked before something happens, and can veto it.
///
/// A connection does not retain its delegates, as in Cocoa: keep yours for as long as it is to be asked.
/// A class, an actor or a class on the main actor can be one.
///
/// What is asked and told begins on the connection's own thread, so that a quick answer wakes no other; behind
/// its first suspension, and on an actor from its beginning, it runs where Swift runs tasks. Until it suspends,
/// the connection does not receive. A delegate that takes longer than some 10 ms for that, or blocks, costs its
/// connection that much: then another thread goes on receiving, and until the first is back, delegates are
/// asked and told on Swift's own threads.
public protocol Delegate: AnyObject, Sendable {
  /// Answers a question. Questions to one delegate may overlap.
  ///
  /// When the question is withdrawn before it is answered, the task is cancelled, from its first suspension on at
  /// the latest, and what is returned then goes nowhere. So it is when the connection is interrupted. What is thrown counts as ``Answer/failed(_:)`` with the
  /// error's text.
  func answer(_ question: Question) async throws -> Answer

  /// A query that this delegate was asked in has ended, so that what was prepared can be undone.
  ///
  /// Called after `answer` has returned, once for each question, but for those that ``Attachment/detach()``
  /// dropped. When the connection ends or is interrupted, or another delegate is set in this one's place, before the
  /// bus has said how the query ended, that counts as ``Conclusion/Ending/cancelled``. Does nothing unless the
  /// delegate says otherwise.
  func concluded(_ conclusion: Conclusion) async

  /// Something is about to happen, or has happened, as AppKit tells a window's delegate.
  ///
  /// What comes are the notifications about the object that the delegate is attached to, or about any, whose
  /// names it responds to and whose last token is `will` or `did` and a verb, as in `window.didClose`; and
  /// the news that some were lost. Each attachment is told in the posters' order, one delivery at a time: the
  /// next follows when this has returned. `answer` to a question that the bus had sent before a notification
  /// has begun when the notification is told (a class on an actor has both in its actor's queue in that
  /// order); a question does not wait for notifications before it.
  ///
  /// Holds at most 4,096 deliveries for a delegate that is at it still, of 64 MiB together; the oldest are
  /// dropped first, and told. Does nothing unless the delegate says otherwise.
  func received(_ delivery: Delivery) async

  /// Another delegate was set in this one's place, and this attachment is over: the last that it is told.
  ///
  /// Called when what was received before has been told. Does nothing unless the delegate says otherwise.
  func replaced(by delegate: DelegateInfo) async
}

extension Delegate {
  /// Does nothing.
  public func concluded(_ conclusion: Conclusion) async {}

  /// Does nothing.
  public func received(_ delivery: Delivery) async {}

  /// Does nothing.
  public func replaced(by delegate: DelegateInfo) async {}
}

/// What a delegate says to a question.
public enum Answer: Hashable, Sendable {
  /// Go ahead.
  case approve
  /// Do not, and why.
  case veto(String)
  /// No opinion.
  case abstain
  /// The delegate broke, and how; its failure policy decides.
  case failed(String)
  /// What was asked for, where a value is wanted (``Question/wantsValue``). To another question it is a failure.
  case value(UserInfo)
}

/// What the failure of a delegate counts as, be it silence, a lost connection or an error.
public enum FailurePolicy: String, Hashable, Sendable, CaseIterable {
  /// A failure is a veto.
  case veto
  /// A failure is no opinion.
  case abstain
}

/// Who asks, as the kernel and systemd know it.
public struct Asker: Hashable, Sendable {
  /// The process.
  public var pid: Int32
  /// The user that the process ran as when it connected.
  public var uid: UInt32
  /// The process's name (comm), at most 15 bytes; empty when it was gone too soon to tell.
  public var process: String
  /// The systemd unit; empty if none.
  public var unit: String
  /// The connection, `:N`.
  public var connection: String

  /// Makes an asker as if a question had come from it, which tests of delegates want.
  public init(
    pid: Int32 = 0, uid: UInt32 = 0, process: String = "", unit: String = "", connection: String = ":0"
  ) {
    self.pid = pid
    self.uid = uid
    self.process = process
    self.unit = unit
    self.connection = connection
  }
}

/// A query, as it is put to one delegate.
public struct Question: Sendable {
  /// The query's id, never used again. What the delegate asks meanwhile names it as its `parent`.
  public let query: UInt64
  /// What is asked: `window.shouldClose`.
  public let name: String
  /// What it is about; empty if about nothing in particular.
  public let object: String
  /// What came with it.
  public let userInfo: UserInfo
  /// The time that the delegate has for its answer, unless it defers.
  public let timeout: Duration
  /// Who asks.
  public let asker: Asker
  /// Nothing will come of it, whatever the verdict: the asker wants to know what would be said.
  public let isDryRun: Bool
  /// A value is wanted (``Answer/value(_:)``), not leave.
  public let wantsValue: Bool
  /// The id of the attachment through which it was asked (``Attachment/id``).
  public let delegate: UInt64

  /// Where it came from; nil for a question that somebody made.
  let link: Link?
  /// The connection that it came over (`Link.epoch`).
  let epoch: Int

  /// Makes a question as if it had been received, which tests of delegates want. Deferring its answer
  /// does nothing.
  public init(
    _ name: String, object: String = "", userInfo: UserInfo = .none, query: UInt64 = 1,
    timeout: Duration = .seconds(5), asker: Asker = Asker(), isDryRun: Bool = false, wantsValue: Bool = false,
    delegate: UInt64 = 1
  ) {
    self.init(
      query: query, name: name, object: object, userInfo: userInfo, timeout: timeout, asker: asker,
      isDryRun: isDryRun, wantsValue: wantsValue, delegate: delegate, link: nil, epoch: 0)
  }

  init(
    query: UInt64, name: String, object: String, userInfo: UserInfo, timeout: Duration, asker: Asker,
    isDryRun: Bool, wantsValue: Bool, delegate: UInt64, link: Link?,
    epoch: Int
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
    self.link = link
    self.epoch = epoch
  }

  /// Says "I am at it": asks for more time, which the asker's own deadline bounds, and tells the asker.
  ///
  /// - Parameters:
  ///   - extension: the time until the answer, from now.
  ///   - status: what to tell the asker; cut at 4,096 bytes.
  /// - Throws: ``TribuneError/Code/notFound`` when the question has been answered or withdrawn;
  ///   ``TribuneError/Code/connectionLost``.
  public func deferAnswer(by extension: Duration, status: String = "") async throws(TribuneError) {
    try link?.defer(self, by: `extension`, status: status)
  }
}

/// How a query ended, for a delegate that was asked in it.
public struct Conclusion: Hashable, Sendable {
  /// The ways in which it can end.
  public enum Ending: String, Hashable, Sendable, CaseIterable {
    /// It was allowed: what was asked about may happen now.
    case allowed
    /// Somebody vetoed it.
    case vetoed
    /// The asker took it back, or is gone; or nobody can tell this delegate any more how it ended.
    case cancelled
  }

  /// The query's id.
  public var query: UInt64
  /// How it ended.
  public var ending: Ending

  /// Makes a conclusion as if it had been received, which tests of delegates want.
  public init(query: UInt64, ending: Ending) {
    self.query = query
    self.ending = ending
  }
}
