// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

extension Bus {
  func requireAwaitable(_ frame: FrameView, _ fields: Post, from slot: ConnectionSlot) throws(WireError) {
    guard fields.style == .now, fields.options.isDisjoint(with: .coalescing) else {
      throw WireError(.invalidValue, "an awaited post cannot be delivered later or coalesced")
    }
    try requireDeadline(fields.deadline)
    try requireFresh(frame.header.serial, from: slot)
    try requireRequestCapacity(from: slot)
  }

  mutating func awaitingReceivers(
    of posted: PostedNotification, from slot: ConnectionSlot
  ) throws(WireError) -> Set<ConnectionSlot> {
    let route = try center.route(of: posted.key, nameLength: posted.header.nameLength, access).index
    let receivers = center.receivers(atRoute: route)
    let awaiting = receivers.filter { $0.isAwaited && $0.way(for: posted.fields.options) != .drop }
    guard connections[slot].awaitedCount + awaiting.count <= limits.awaitedMax else {
      throw WireError(limit: "\(limits.awaitedMax) awaited observers per connection")
    }
    let waiting = Set(awaiting.map(\.slot))
    let shownLength = isMonitored ? posted.key.byteCount : 0
    try requireCapacity(toRemember: rememberedLength(keyLength: shownLength, of: waiting), from: slot)
    return waiting
  }

  mutating func startWaiting(_ posted: PostedNotification, _ awaiting: Set<ConnectionSlot>, at now: Instant) {
    let (slot, serial) = (posted.poster.slot, posted.header.serial)
    let shown = isMonitored ? posted.shownTail : nil
    guard !awaiting.isEmpty else {
      emit(.awaited(slot, serial, Awaited(acknowledged: 0, missing: []), shown))
      return
    }
    let deadline = posted.fields.deadline == 0 ? limits.deadline : posted.fields.deadline
    let post = AwaitedPost(
      poster: slot, posterID: posted.poster.id, serial: serial, posted: now, waiting: awaiting, shown: shown)
    begin(post, due: now.advanced(byMilliseconds: deadline))
  }

  mutating func begin(_ post: AwaitedPost, due: Instant) {
    let number = awaitedPosts.insert(post, due: due, &deadlines)
    connections[post.poster].awaitedPosts[post.serial] = number
    connections[post.poster].awaitedCount += post.count
    post.rememberedByteCount = rememberedLength(
      keyLength: post.shown?.slice.count ?? 0, of: post.waiting, missing: post.missing)
    beginRemembering(post.rememberedByteCount, of: post.poster)
    for observer in post.waiting { connections[observer].unacknowledgedPosts.insert(number) }
  }

  mutating func acknowledge(_ frame: FrameView, from slot: ConnectionSlot, at now: Instant) throws(WireError)
  {
    let done = try frame.decode(Done.self)
    guard let number = awaitedPosts.number(poster: done.poster, serial: done.post),
      awaitedPosts[number].waiting.contains(slot)
    else {
      throw WireError(.notAsked, "post \(done.post) of \(done.poster) does not wait for this connection")
    }
    let reason = done.hasFailed ? keptReason(frame.text(), of: awaitedPosts[number]) : ""
    endWaiting(number, slot, done.hasFailed ? .failed : nil, reason: reason, at: now)
  }

  /// Returns the reason, or an empty text if the reason does not fit in the limits on answers.
  private mutating func keptReason(_ reason: String, of post: AwaitedPost) -> String {
    let (length, poster) = (reason.utf8.count, post.poster)
    guard chargeAnswer(length, to: poster) else { return "" }
    post.reasonByteCount += length
    return reason
  }

  mutating func failUnacknowledged(by slot: ConnectionSlot, at now: Instant) {
    let oldestFirst = connections[slot].unacknowledgedPosts.sorted {
      awaitedPosts[$0].age < awaitedPosts[$1].age
    }
    for number in oldestFirst { endWaiting(number, slot, .gone, reason: "", at: now) }
  }

  /// True if the post waits for the connection, but the connection has ended all its awaited observations
  /// that match the post.
  package func isAbandoned(_ post: FrameView, by slot: ConnectionSlot) -> Bool {
    guard let number = awaitedPosts.number(poster: post.header.sender, serial: post.header.serial),
      awaitedPosts[number].waiting.contains(slot)
    else { return false }
    return !connections[slot].observations.values.contains { $0.isAwaited && $0.matches(post) }
  }

  package mutating func abandon(
    _ serial: Serial, of poster: ConnectionID, by slot: ConnectionSlot, at now: Instant
  ) {
    guard let number = awaitedPosts.number(poster: poster, serial: serial),
      awaitedPosts[number].waiting.contains(slot)
    else { return }
    endWaiting(number, slot, .gone, reason: "", at: now)
  }

  mutating func expire(awaitedPost number: Int, at now: Instant) {
    for slot in awaitedPosts[number].waiting {
      countOutcome(.timedOut, of: slot, since: awaitedPosts[number].posted, at: now)
      addMissing(number, slot, .timedOut, reason: "", at: now)
    }
    conclude(number)
  }

  /// Ends the wait for acknowledgements without a reply to the poster.
  mutating func forget(awaitedPost number: Int) {
    let post = awaitedPosts[number]
    for slot in post.waiting { connections[slot].unacknowledgedPosts.remove(number) }
    connections[post.poster].awaitedPosts[post.serial] = nil
    connections[post.poster].awaitedCount -= post.count
    endRemembering(post.rememberedByteCount, answers: post.reasonByteCount, of: post.poster)
    awaitedPosts.remove(number, &deadlines)
  }

  /// - Parameter failure: nil if the observer has handled the post.
  private mutating func endWaiting(
    _ number: Int, _ slot: ConnectionSlot, _ failure: ObserverFailure?, reason: String, at now: Instant
  ) {
    let post = awaitedPosts[number]
    countOutcome(failure, of: slot, since: post.posted, at: now)
    if let failure {
      addMissing(number, slot, failure, reason: reason, at: now)
    } else {
      post.acknowledged += 1
      let released = rememberedLength(ofObserver: slot)
      post.rememberedByteCount -= released
      endRemembering(released, answers: 0, of: post.poster)
    }
    post.waiting.remove(slot)
    connections[slot].unacknowledgedPosts.remove(number)
    if post.waiting.isEmpty { conclude(number) }
  }

  private func addMissing(
    _ number: Int, _ slot: ConnectionSlot, _ failure: ObserverFailure, reason: String, at now: Instant
  ) {
    let (post, observer) = (awaitedPosts[number], connections[slot])
    post.missing.append(
      MissingObserver(
        connection: observer.id, peer: observer.peer, failure: failure, reason: reason,
        elapsed: now.nanoseconds(since: post.posted) / 1000))
  }

  mutating func conclude(_ number: Int) {
    let post = awaitedPosts[number]
    emit(.awaited(post.poster, post.serial, post.reply, isMonitored ? post.shown : nil))
    forget(awaitedPost: number)
  }
}

extension NotificationCenter.Observation {
  fileprivate func matches(_ post: FrameView) -> Bool {
    pattern.observes(post.name) && (object.map { post.object.isEqual(to: $0.utf8Bytes) } ?? true)
  }
}

extension PostedNotification {
  /// A copy of the name and the object: monitors still need them when the bus has reused its receive buffer.
  fileprivate var shownTail: QueryTail {
    let start = slice.range.lowerBound
    let key = ByteSlice(slice.buffer, start + header.nameStart..<start + header.payloadStart)
    return QueryTail(slice: key.copied(), nameLength: header.nameLength, objectLength: header.objectLength)
  }
}
