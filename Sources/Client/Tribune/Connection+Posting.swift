// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension Connection {
  /// Posts a notification without waiting for the bus.
  ///
  /// The library queues the notification behind the frames that wait to be written. If more than 1 MiB of
  /// frames waits, the call suspends. Posts of one task stay in order. An empty `object` means no object.
  ///
  /// - Throws: `invalidName`, `reservedName`, `invalidObject`, `payloadTooLong`; `cancelled` when the task is
  ///   cancelled while the call is suspended: then the library does not post the notification.
  public func post(
    _ name: String, object: String = "", userInfo: UserInfo = .none, options: PostOptions = .init()
  ) async throws(TribuneError) { try await link.post(options.fields, try .init(name, object, userInfo)) }

  /// Posts a notification and returns when the bus has accepted it.
  ///
  /// With the style ``PostOptions/Style/now``, the notification is in the queues of all receivers when the
  /// call returns. With another style, the notification possibly still waits on the bus.
  ///
  /// - Throws: the errors of ``post(_:object:userInfo:options:)``, and any refusal of the bus;
  ///   `limitExceeded` when the post exceeds this user's quota of retained notifications. The bus does not
  ///   deliver a refused post.
  public func postAcknowledged(
    _ name: String, object: String = "", userInfo: UserInfo = .none, options: PostOptions = .init()
  ) async throws(TribuneError) {
    let message = try Link.Message(name, object, userInfo)
    try await link.request(posting: options.fields, message, flags: .acknowledge)
  }

  /// Posts a notification and waits until its awaited observers are done, or until the deadline.
  ///
  /// Use this call for notifications that announce an action (`will`). The reply names the observers that
  /// failed, disconnected or were too slow. The call also waits for suspended awaited observers, unless they
  /// have ``SuspensionBehavior/drop`` and the post is not immediate. Without a matching awaited observer, the
  /// reply comes at once. Cancelling the task ends the waiting, but does not take the post back.
  ///
  /// - Parameters:
  ///   - name: the notification's name, such as `archive.willPrune`.
  ///   - object: the notification's object; empty for none.
  ///   - userInfo: the payload for the observers.
  ///   - deadline: the longest time until the reply, with the default and the limits of `ask`.
  ///   - isRetained: see ``PostOptions/isRetained``.
  ///   - isImmediate: see ``PostOptions/isImmediate``. If true, the call also waits for suspended awaited
  ///     observers with ``SuspensionBehavior/drop``.
  /// - Throws: the errors of ``postAcknowledged(_:object:userInfo:options:)``; `limitExceeded` also when this
  ///   connection's awaited posts have too many observers together.
  public func postAwaited(
    _ name: String, object: String = "", userInfo: UserInfo = .none, deadline: Duration? = nil,
    isRetained: Bool = false, isImmediate: Bool = false
  ) async throws(TribuneError) -> AwaitedReply {
    let message = try Link.Message(name, object, userInfo)
    var fields = PostOptions(isRetained: isRetained, isImmediate: isImmediate).fields
    fields.options.insert(.awaited)
    fields.deadline = Checked.milliseconds(deadline)
    let response = try await link.request(posting: fields, message, isTakenBack: true, as: .awaitedPost)
    guard case .awaited(let reply) = response else {
      preconditionFailure("an awaited post ended without a list of its observers")
    }
    return reply
  }
}
