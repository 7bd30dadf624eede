// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
import TribuneWire

extension Bus {
  /// Throws if the post cannot be bound to its poster. The post's style must be *now*, because the poster
  /// could leave before a later delivery.
  func requireBindable(_ fields: Post, from slot: ConnectionSlot) throws(WireError) {
    guard fields.options.contains(.retain), fields.style == .now else {
      throw WireError(
        .invalidValue, "only a notification that is retained at once can be bound to its poster")
    }
    guard connections[slot].bound.count < limits.observationsMax else {
      throw WireError(
        limit: "\(limits.observationsMax) bound notifications per connection", setting: "ObservationsMax=")
    }
  }

  mutating func reserve(_ posted: inout PostedNotification) throws(WireError) {
    let cost = RetainedNotification.cost(of: posted.tail, from: posted.poster.peer)
    // A delayed post replaces the retained notification only at its delivery. Until then, both need capacity.
    let before = posted.fields.style == .now ? retained.notification(posted.name, posted.object) : nil
    try chargeRetained(cost, to: posted.uid, replacing: before)
    posted.reserved = cost
  }

  mutating func release(_ posted: PostedNotification) {
    if posted.reserved > 0 { accounts.charge(-posted.reserved, of: .retained, to: posted.uid) }
  }

  mutating func keep(_ posted: PostedNotification) {
    let (name, object) = (posted.name, posted.object)
    // The policy may have changed since the bus accepted the post.
    if posted.fields.style != .now, !access.mayRetain(name, object, user: posted.uid) {
      return release(posted)
    }
    guard posted.isKept else { return forgetRetained(name: name, object: object) }
    let tail = posted.tail
    let kept = RetainedNotification(
      tail: QueryTail(
        slice: tail.slice.copied(), nameLength: tail.nameLength, objectLength: tail.objectLength),
      sender: posted.poster.id, peer: posted.poster.peer, uid: posted.uid, posted: posted.posted,
      isBound: posted.fields.options.contains(.bound))
    retain(kept)
    emit(.kept(kept))
  }

  mutating func retain(_ kept: RetainedNotification) {
    if let before = retained.keep(kept, kept.name, kept.object) { unbind(before) }
    if kept.isBound, let slot = connections[kept.sender] { connections[slot].bound[kept.number] = kept }
  }

  package mutating func forgetRetained(name: String, object: String) {
    guard let before = retained.forget(name, object) else { return }
    unbind(before)
    emit(.forgotten(name: name, object: object))
  }

  private mutating func unbind(_ notification: RetainedNotification) {
    guard notification.isBound, let slot = connections[notification.sender] else { return }
    connections[slot].bound[notification.number] = nil
  }

  /// Clears the bound notifications of a connection that has ended. Observers get the same posts as if the
  /// client had cleared these notifications itself.
  mutating func clear(_ bound: [RetainedNotification], at now: Instant) {
    for notification in bound {
      let (buffer, fields) = (ByteBuffer(capacity: 0), Post(options: .retain))
      buffer.appendFrame(
        fields, sender: notification.sender, serial: 0, name: notification.name, object: notification.object)
      guard let header = FrameHeader.peek(buffer.bytes, at: 0, limits: .fromBus) else {
        preconditionFailure("a retained notification has no valid name")
      }
      deliver(
        PostedNotification(
          slice: ByteSlice(buffer, 0..<buffer.count), header: header, fields: fields,
          poster: Poster(slot: .nowhere, id: notification.sender, peer: notification.peer),
          uid: notification.uid, posted: now))
    }
  }

  func snapshot(
    of observation: NotificationCenter.Observation, for slot: ConnectionSlot
  ) -> [RetainedNotification] {
    var kept: [RetainedNotification] = []
    for notification in retained.matching(observation.pattern, object: observation.object) {
      let tail = notification.tail
      if access.mayReceive(slot, tail.name, tail.object) { kept.append(notification) }
    }
    return kept
  }
}
