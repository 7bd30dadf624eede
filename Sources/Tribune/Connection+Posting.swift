// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension Connection {
  /// Posts a notification: queued behind what was sent before, and not waited for.
  ///
  /// Suspends only while more than 1 MiB waits to be written. What a task posts in turn stays in order.
  ///
  /// - Parameters:
  ///   - name: what it says.
  ///   - object: what it is about; empty for nothing in particular.
  ///   - userInfo: what goes with it.
  ///   - options: what is done with it beyond having it delivered.
  /// - Throws: `invalidName`, `reservedName`, `invalidObject`, `payloadTooLong`, `connectionLost`; `cancelled`
  ///   when the task is cancelled while it waits for room, and then nothing was posted.
  public func post(
    _ name: String, object: String = "", userInfo: UserInfo = .none, options: PostOptions = .init()
  ) async throws(TribuneError) {
    let name = try Checked.ownName(name)
    let object = try Checked.object(object)
    try await link.post(options.fields, .init(name: name, object: object, payload: userInfo.bytes))
  }

  /// Posts a notification and returns when the bus has it.
  ///
  /// With the style ``PostOptions/Style/now`` it is then in the queues of all that receive it; with
  /// another, it may still wait.
  ///
  /// - Throws: as ``post(_:object:userInfo:options:)``, and what the bus refuses it for: `limitExceeded` when
  ///   it is to be retained and this user has too much retained, and then it was not delivered either.
  public func postAcknowledged(
    _ name: String, object: String = "", userInfo: UserInfo = .none, options: PostOptions = .init()
  ) async throws(TribuneError) {
    let name = try Checked.ownName(name)
    let object = try Checked.object(object)
    let message = Link.Message(name: name, object: object, payload: userInfo.bytes)
    _ = try await link.request(options.fields, message, flags: .acknowledge) { reply, _ in .okay(reply) }
  }

  /// Posts a notification and returns when those that observe it as awaited have done their work, or at the
  /// deadline: the barrier that a `will` needs.
  ///
  /// One that fails, ends or is too slow keeps nobody waiting longer than the deadline, and is no error:
  /// the reply names it. Suspended connections are waited for, too, unless their observations drop what
  /// comes. When nobody observes it so, the reply comes at once. Cancelling the task ends the waiting; the
  /// notification was posted all the same.
  ///
  /// - Parameters:
  ///   - name: what it says: `archive.willPrune`.
  ///   - object: what it is about; empty for nothing in particular.
  ///   - userInfo: what goes with it.
  ///   - deadline: when it is not waited for any longer; nil is the bus's default, 30 s unless it is set
  ///     otherwise.
  ///   - isRetained: whether the bus keeps it, as with ``PostOptions/isRetained``.
  ///   - isImmediate: whether suspended connections receive it that nobody waits for, too, as with
  ///     ``PostOptions/isImmediate``.
  /// - Throws: as ``postAcknowledged(_:object:userInfo:options:)``; `limitExceeded` also when this connection
  ///   waits for too much already, `cancelled` when the task is cancelled.
  public func postAwaited(
    _ name: String, object: String = "", userInfo: UserInfo = .none, deadline: Duration? = nil,
    isRetained: Bool = false, isImmediate: Bool = false
  ) async throws(TribuneError) -> AwaitedReply {
    let name = try Checked.ownName(name)
    let object = try Checked.object(object)
    let wishes = PostOptions(isRetained: isRetained, isImmediate: isImmediate)
    var fields = wishes.fields
    fields.options.insert(.awaited)
    fields.deadline = Checked.milliseconds(deadline)
    let message = Link.Message(name: name, object: object, payload: userInfo.bytes)
    return try await link.request(fields, message, isTakenBack: true) { reply, _ in .awaited(reply) }
  }
}
