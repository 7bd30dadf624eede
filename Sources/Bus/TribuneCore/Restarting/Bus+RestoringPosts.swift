// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

extension Bus {
  // MARK: Awaited posts

  /// Returns false if the post is no longer under way.
  package mutating func appendAwaitedPost(
    _ serial: Serial, by poster: ConnectionID, to buffer: ByteBuffer
  ) -> Bool {
    guard let number = awaitedPosts.number(poster: poster, serial: serial) else { return false }
    append(awaitedPost: number, to: buffer)
    return true
  }

  func append(awaitedPost number: Int, to buffer: ByteBuffer) {
    let post = awaitedPosts[number]
    buffer.append(post.posterID.rawValue)
    buffer.append(post.serial)
    buffer.append(post.posted.nanoseconds)
    guard let deadline = post.deadline else { preconditionFailure("post \(number) is not under way") }
    buffer.append(deadlines.due(of: deadline).nanoseconds)
    buffer.append(UInt64(post.reasonByteCount))
    post.reply.append(to: buffer)
    buffer.append(UInt32(post.waiting.count))
    for observer in post.waiting.map({ connections[$0].id }).sorted() { buffer.append(observer.rawValue) }
    buffer.append(post.shown != nil)
    post.shown?.append(to: buffer)
  }

  /// Restores an awaited post. Cuts its deadline to the longest permitted one. Observers that are not
  /// connected are `gone`. If this method throws, the bus is unchanged.
  package mutating func restoreAwaitedPost(_ fields: RawSpan, at now: Instant) throws(WireError) {
    var reader = FieldReader(fields)
    let posterID = ConnectionID(rawValue: try reader.integer())
    let serial: Serial = try reader.integer()
    let posted = Instant(nanoseconds: try reader.integer())
    let latest = now.advanced(byMilliseconds: limits.deadlineMax)
    let due = min(Instant(nanoseconds: try reader.integer()), latest)
    let reasonByteCount: UInt64 = try reader.integer()
    var reply = try Awaited(from: &reader)
    var waiting: Set<ConnectionSlot> = []
    for _ in 0..<Int(try reader.integer(UInt32.self)) {
      let observer = ConnectionID(rawValue: try reader.integer())
      guard let slot = connections[observer] else {
        reply.missing.append(
          MissingObserver(
            connection: observer, peer: .unknown, failure: .gone, reason: "",
            elapsed: now.nanoseconds(since: posted) / 1000))
        continue
      }
      guard waiting.insert(slot).inserted else {
        throw WireError(.invalidValue, "post \(serial) of \(posterID) waits twice for \(observer)")
      }
    }
    let shown = try reader.flag() ? try QueryTail(from: &reader) : nil

    guard let slot = connections[posterID] else {
      throw WireError(.notFound, "the poster \(posterID) of post \(serial) is not connected")
    }
    try requireFresh(serial, from: slot)
    // A bus never has this many observers.
    guard reply.acknowledged <= 1 << 24 else {
      throw WireError(
        .invalidValue,
        "post \(serial) of \(posterID) cannot have \(reply.acknowledged) acknowledgements")
    }
    guard reasonByteCount <= UInt64(fields.byteCount + reply.missing.count * WireLimits.reasonLength) else {
      throw WireError(
        .invalidValue, "post \(serial) of \(posterID) cannot have \(reasonByteCount) bytes of reasons")
    }
    let post = AwaitedPost(
      poster: slot, posterID: posterID, serial: serial, posted: posted, waiting: waiting, shown: shown,
      acknowledged: reply.acknowledged, missing: reply.missing)
    post.reasonByteCount = Int(reasonByteCount)
    begin(post, due: due)
    countAnswers(post.reasonByteCount, to: slot)
  }

  mutating func concludeAwaited() {
    for number in awaitedPosts.numbers where awaitedPosts[number].waiting.isEmpty { conclude(number) }
  }

  // MARK: Posts that wait for the bus to be idle

  package mutating func restoreWaiting(
    _ frame: RawSpan, number: UInt64, from poster: ConnectionID, uid: UInt32, at posted: Instant
  ) throws(WireError) {
    let own = ByteBuffer(holding: frame)
    guard let header = try FrameHeader(own.bytes, at: 0, limits: .fromBus), header.kind == .post,
      header.frameLength == own.count, number > 0, number <= BusCounters.most
    else { throw WireError(.malformedFrame, "the waiting frame is not a post") }
    let view = FrameView(header, own.bytes)
    let fields = try view.decode(Post.self)
    try view.name.requireName()
    try view.object.requireObject()
    guard fields.style == .whenIdle, fields.length == 0, !NameSyntax.isReserved(view.name) else {
      throw WireError(.invalidValue, "the post is not one that waits for the bus to be idle")
    }
    let slot = connections[poster]
    let peer = slot.map { connections[$0].peer } ?? .gone(of: uid)
    var waiting = PostedNotification(
      slice: ByteSlice(own, 0..<own.count), header: header, fields: fields,
      poster: Poster(slot: slot ?? .nowhere, id: poster, peer: peer), uid: uid, posted: posted, number: number
    )
    if fields.options.contains(.retain), waiting.isKept {
      waiting.reserved = RetainedNotification.cost(of: waiting.tail, from: waiting.poster.peer)
      accounts.charge(waiting.reserved, of: .retained, to: uid)
    }
    postings.append(waiting)
  }

  package mutating func forgetWaiting(number: UInt64) {
    guard let posted = postings.remove(number: min(number, BusCounters.most)), posted.reserved > 0
    else { return }
    accounts.charge(-posted.reserved, of: .retained, to: posted.uid)
  }

  // MARK: Retained notifications

  package mutating func isRetained(
    name: String, object: String, sender: ConnectionID, posted: Instant
  ) -> Bool {
    guard let kept = retained.notification(name, object) else { return false }
    return kept.sender == sender && kept.posted == posted
  }

  /// `fields` are the same as for `restoreRetained`.
  package mutating func isRetained(_ fields: RawSpan) throws(WireError) -> Bool {
    let (name, object, sender, posted) = try Self.identity(ofRetained: fields)
    return isRetained(name: name, object: object, sender: sender, posted: posted)
  }

  /// `fields` are the same as for `restoreRetained`.
  package mutating func forgetRetained(_ fields: RawSpan) throws(WireError) -> (name: String, object: String)
  {
    let (name, object, _, _) = try Self.identity(ofRetained: fields)
    forgetRetained(name: name, object: object)
    return (name, object)
  }

  private static func identity(
    ofRetained fields: RawSpan
  ) throws(WireError) -> (name: String, object: String, sender: ConnectionID, posted: Instant) {
    var reader = FieldReader(fields)
    let sender = ConnectionID(rawValue: try reader.integer())
    _ = try reader.integer(UInt32.self)
    let posted = Instant(nanoseconds: try reader.integer())
    _ = try reader.flag()
    _ = try reader.integer(UInt64.self)
    let nameLength = Int(try reader.integer(UInt8.self))
    let keyLength = nameLength + Int(try reader.integer(UInt8.self))
    let bytes = try reader.bytesField()
    guard keyLength <= bytes.byteCount else {
      throw WireError(.malformedFrame, "the name and the object are longer than their field")
    }
    return (
      String(repairing: bytes.extracting(first: nameLength)),
      String(repairing: bytes.extracting(nameLength..<keyLength)), sender, posted
    )
  }

  package mutating func allRetained() -> [RetainedNotification] {
    retained.all.sorted { $0.number < $1.number }
  }

  /// Restores a notification as the newest retained one. After this call, the retained notifications can
  /// exceed the limits. If this method throws, the bus is unchanged.
  @discardableResult
  package mutating func restoreRetained(
    _ fields: RawSpan, attachment: (any AttachedFile)?
  ) throws(WireError) -> RetainedNotification {
    var reader = FieldReader(fields)
    let kept = try RetainedNotification(from: &reader, attachment: attachment)
    guard !kept.isBound || connections[kept.sender] != nil else {
      throw WireError(.notFound, "the poster of a bound notification, \(kept.sender), is not connected")
    }
    accounts.charge(kept.cost, of: .retained, to: kept.uid)
    retain(kept)
    return kept
  }

  // MARK: Buffered notifications

  /// Appends the buffered notifications to `buffer`. Returns their files for `restoreBuffered`, in order.
  package mutating func appendBuffered(of slot: ConnectionSlot, to buffer: ByteBuffer) -> [any AttachedFile] {
    guard isConnected(slot) else { return [] }
    return connections[slot].buffered?.append(to: buffer) ?? []
  }

  /// Appends notifications to the buffer of a connection, except those that the connection may no longer
  /// observe. If the buffer then exceeds its limit, the bus drops the oldest notifications when it buffers a
  /// further one. If this method throws, the bus is unchanged.
  package mutating func restoreBuffered(
    _ fields: RawSpan, attachments: [any AttachedFile], for slot: ConnectionSlot
  ) throws(WireError) {
    guard isSuspended(slot) else {
      throw WireError(.notFound, "notifications are buffered for a connection that is not suspended")
    }
    var reader = FieldReader(fields)
    let restored = try RestoredBuffer(from: &reader, attachments: attachments)
    let before = connections[slot].buffered?.byteCount ?? 0
    connections[slot].buffered?.restore(restored)
    countBuffered((connections[slot].buffered?.byteCount ?? 0) - before, for: slot)
    filterBuffered(for: slot)
  }
}

extension RetainedNotification {
  package var name: String { tail.nameText }
  package var object: String { tail.objectText }

  package var attachment: (any AttachedFile)? { tail.slice.buffer.attachment }

  package func append(to buffer: ByteBuffer) {
    buffer.append(sender.rawValue)
    buffer.append(uid)
    buffer.append(posted.nanoseconds)
    buffer.append(isBound)
    buffer.append(UInt64(attachment?.length ?? 0))
    tail.append(to: buffer)
    peer.append(to: buffer)
  }

  fileprivate convenience init(
    from reader: inout FieldReader, attachment: (any AttachedFile)?
  ) throws(WireError) {
    let sender = ConnectionID(rawValue: try reader.integer())
    let uid: UInt32 = try reader.integer()
    let posted = Instant(nanoseconds: try reader.integer())
    let isBound = try reader.flag()
    let length: UInt64 = try reader.integer()
    let tail = try QueryTail(from: &reader, attachment: attachment)
    let peer = try PeerIdentity(from: &reader)
    guard length == UInt64(attachment?.length ?? 0) else {
      throw WireError(.missingDescriptor, "the file of \(length) bytes of a retained notification is missing")
    }
    guard (tail.payloadLength > 0) != (length > 0) else {
      throw WireError(.invalidValue, "a retained notification must have userInfo, in the frame or in a file")
    }
    self.init(tail: tail, sender: sender, peer: peer, uid: uid, posted: posted, isBound: isBound)
  }
}
