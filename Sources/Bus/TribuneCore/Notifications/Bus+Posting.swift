// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
package import TribuneWire

/// Posts that need more than immediate delivery. The server itself forwards all other posts.
extension Bus {
  // MARK: Posting

  mutating func post(
    _ frame: FrameView, in slice: ByteSlice, from slot: ConnectionSlot, at now: Instant
  ) throws(WireError) {
    let fields = try frame.decode(Post.self)
    let options = fields.options
    if options.contains(.bound) { try requireBindable(fields, from: slot) }
    try frame.name.requireName()
    try frame.object.requireObject()
    try frame.name.requireUnreservedName()
    let key = frame.bytes.extracting(frame.header.nameStart..<frame.header.payloadStart)
    let route = try center.route(of: key, nameLength: frame.header.nameLength, access).index
    for action in options.contains(.retain) ? [Action.post, .retain] : [.post] {
      try requirePermission(action, on: key, nameLength: frame.header.nameLength, route: route, from: slot)
    }
    guard fields.length == 0 || slice.buffer.attachment != nil else {
      throw WireError(.invalidValue, "the post has no descriptor for its \(fields.length) bytes of userInfo")
    }
    if options.contains(.awaited) { try requireAwaitable(frame, fields, from: slot) }
    let peer = connections[slot].peer
    var posted = PostedNotification(
      slice: slice, header: frame.header, fields: fields,
      poster: Poster(slot: slot, id: connections[slot].id, peer: peer), uid: peer.uid, posted: now)
    // The server has already checked userInfo in a file, because the core cannot read files.
    if slice.buffer.attachment == nil, isDeclared(frame.object) {
      // A post that clears a retained notification has no userInfo to check.
      try check(post: frame, isClearing: options.contains(.retain) && !posted.isKept)
    }
    let awaiting = try options.contains(.awaited) ? awaitingReceivers(of: posted, from: slot) : []
    if options.contains(.retain), posted.isKept { try reserve(&posted) }

    for replaced in postings.coalesce(with: posted) {
      release(replaced)
      emitNoLongerWaiting(for: replaced)
    }
    if fields.style == .now {
      deliver(posted)
    } else {
      let waiting = postings.append(posted)
      if waiting.number > 0 {
        emit(.waiting(waiting.slice, number: waiting.number, from: waiting.poster.id, uid: waiting.uid))
      }
      while let surplus = postings.popSurplus() { deliver(surplus) }
    }
    if options.contains(.awaited) {
      startWaiting(posted, awaiting, at: now)
    } else if frame.header.flags.contains(.acknowledge) {
      emit(.okay(slot, frame.header.serial, Okay()))
    }
  }

  package var hasSoonPosts: Bool { mutating get { postings.hasSoon } }

  /// Delivers the oldest post that waits for the end of the loop iteration. Returns false if there is none.
  /// The caller must perform the effects of this call before it calls a `deliver…` method again.
  package mutating func deliverSoon() -> Bool { deliver(postings.popSoon()) }

  package var hasIdlePosts: Bool { mutating get { postings.hasIdle } }

  package mutating func deliverIdle() -> Bool { deliver(postings.popIdle()) }

  /// Delivers a post that has waited one second for an idle bus. Returns false if there is none.
  package mutating func deliverDue(at now: Instant) -> Bool { deliver(postings.popDue(at: now)) }

  private mutating func deliver(_ posted: PostedNotification?) -> Bool {
    guard let posted else { return false }
    deliver(posted)
    return true
  }

  private mutating func emitNoLongerWaiting(for posted: PostedNotification) {
    if posted.number > 0 { emit(.noLongerWaiting(posted.number)) }
  }

  mutating func deliver(_ posted: PostedNotification) {
    emitNoLongerWaiting(for: posted)
    if posted.fields.options.contains(.retain) { keep(posted) }
    let options = posted.fields.options
    var receivers = validReceivers(of: posted)
    // Usually, all receivers get the post at once. The effect then shares the array in the route cache.
    if receivers.contains(where: { $0.way(for: options) != .now }) {
      var run = RunToBuffer(posted.slice, count: 1)
      receivers = receivers.filter { receiver in
        guard case .delivered(let flushed) = admit(receiver, &run, options) else { return false }
        if let flushed { emit(.buffered(receiver.slot, flushed)) }
        return true
      }
    }
    emit(.notification(posted.slice, to: receivers, from: posted.poster))
  }

  private mutating func validReceivers(of posted: PostedNotification) -> [Receiver] {
    do throws(WireError) {
      let route = try center.route(of: posted.key, nameLength: posted.header.nameLength, access).index
      return center.receivers(atRoute: route)
    } catch {
      preconditionFailure("an accepted name or object is invalid: \(error.message)")
    }
  }

  // MARK: Suspension

  mutating func suspend(_ frame: FrameView, from slot: ConnectionSlot) throws(WireError) {
    let isSuspended = try frame.decode(Suspend.self).isSuspended
    if !isSuspended {
      resume(slot)
    } else if connections[slot].buffered == nil {
      connections[slot].buffered = BufferedNotifications(of: slot)
      connections[slot].account.charges.suspendedCount += 1
      center.setSuspended(true, slot)
    }
    emit(.okay(slot, frame.header.serial, Okay()))
  }

  package var suspendedByteCount: Int { mutating get { suspensions.byteCount } }

  mutating func resumeAll() {
    for slot in connections.takenSlots where connections[slot].buffered != nil { resume(slot) }
  }

  private mutating func resume(_ slot: ConnectionSlot) {
    emitBuffered(for: slot)
    forgetBuffered(for: slot)
  }

  mutating func forgetBuffered(for slot: ConnectionSlot) {
    guard let buffered = connections[slot].buffered else { return }
    countBuffered(-buffered.byteCount, for: slot)
    connections[slot].account.charges.suspendedCount -= 1
    connections[slot].buffered = nil
    center.setSuspended(false, slot)
  }

  package mutating func admit(
    _ receiver: Receiver, _ run: inout RunToBuffer, _ options: PostOptions = []
  ) -> Admission {
    switch receiver.way(for: options) {
    case .now: return .delivered(after: nil)
    case .flush: return .delivered(after: takeBuffered(for: receiver.slot))
    case .drop: break
    case .coalesce: buffer(&run, for: receiver.slot, coalesces: true)
    case .hold: buffer(&run, for: receiver.slot, coalesces: false)
    }
    return .keptBack
  }

  private mutating func buffer(_ run: inout RunToBuffer, for slot: ConnectionSlot, coalesces: Bool) {
    // The earlier bus has counted its buffered notifications, and a hand-over passes them on.
    if restoring.isReplaying { return }
    // If a user exceeds its share of unread bytes, the buffers of the user's suspended connections divide
    // half of the share equally. Without this limit, one large old buffer would starve the other buffers.
    let account = connections[slot].account
    let share =
      accounts.isOverShare(of: .queues, account)
      ? accounts.share(of: .queues, for: account) / 2 / account.charges.suspendedCount : .max
    let before = connections[slot].buffered?.byteCount ?? 0
    connections[slot].buffered?.append(&run, coalesces: coalesces, limit: min(limits.bufferMax, share))
    if suspensions.slots.last != slot { suspensions.slots.append(slot) }
    countBuffered((connections[slot].buffered?.byteCount ?? 0) - before, for: slot)
  }

  mutating func countBuffered(_ length: Int, for slot: ConnectionSlot) {
    suspensions.byteCount += length
    accounts.charge(length, of: .queues, to: connections[slot].account)
  }

  package mutating func popBuffered() -> ConnectionSlot? { suspensions.slots.popLast() }

  private mutating func takeBuffered(for slot: ConnectionSlot) -> FlushedNotifications? {
    let byteCount = connections[slot].buffered?.byteCount ?? 0
    guard let flushed = connections[slot].buffered?.take() else { return nil }
    countBuffered(-byteCount, for: slot)
    return flushed
  }

  mutating func emitBuffered(for slot: ConnectionSlot) {
    if let flushed = takeBuffered(for: slot) { emit(.buffered(slot, flushed)) }
  }
}

extension PostedNotification {
  /// False if the post clears the retained notification.
  var isKept: Bool { header.payloadLength > 0 || fields.length > 0 }
}
