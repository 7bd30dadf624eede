// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneSystem
import TribuneTestSupport
import TribuneWire

extension Life {
  func read(_ seat: Int, everything: Bool = false) throws(Violation) {
    guard let link = links[seat], let socket = link.socket, everything || link.reads else {
      if let link = links[seat], random.oneIn(10) { link.reads = true }
      return
    }
    var isEnd = false
    while true {
      let most = everything || random.oneIn(2) ? 1 << 16 : Int.random(in: 1...200, using: &random)
      let buffer = ByteBuffer(capacity: most)
      do throws(Errno) {
        let received = try UnixSocket.receive(from: socket.descriptor, into: buffer, &link.inboundFiles)
        switch received {
        case .bytes: break
        case .nothing: break
        case .end: isEnd = true
        case .descriptors: throw Errno(rawValue: EPROTO)
        }
        guard case .bytes = received else { break }
      } catch {
        // The bus died before it had read everything.
        isEnd = true
        break
      }
      if buffer.count > 0 { tell("link \(link.number) reads \(buffer.count)") }
      // The accounts count descriptors that other threads close.
      if seat != setting.seatCount { digest.add(buffer.bytes) }
      link.inbound.append(buffer.bytes)
      if !everything { break }
    }
    try readFrames(link)
    if isEnd { try ended(link) }
  }

  private func readFrames(_ link: Link) throws(Violation) {
    var position = 0
    let bytes = ByteBuffer(holding: link.inbound.array)
    do throws(WireError) {
      if !link.isGreeted {
        guard let hello = try Hello(bytes.bytes) else { return }
        check(hello.version == 1, "link \(link.number) is to speak version \(hello.version)")
        link.isGreeted = true
        position = Hello.length
      }
    } catch {
      throw fail("link \(link.number) was greeted with nonsense: \(error.message)")
    }
    while true {
      let header: FrameHeader
      do throws(WireError) {
        guard let next = try FrameHeader(bytes.bytes, at: position, limits: .fromBus) else { break }
        header = next
      } catch {
        throw fail("link \(link.number) was sent no frame: \(error.message)")
      }
      guard bytes.count - position >= header.frameLength else { break }
      let range = position..<position + header.frameLength
      position = range.upperBound
      do throws(WireError) {
        try take(FrameView(header, bytes.bytes(in: range)), link)
      } catch {
        if let violation = pendingViolation { throw violation }
        throw fail("link \(link.number) was sent a \(header.rawKind) that cannot be read: \(error.message)")
      }
      if !Life.isTold, let violation = pendingViolation { throw violation }
    }
    if let violation = pendingViolation { throw violation }
    link.inbound.truncate(to: 0)
    link.inbound.append(bytes.bytes(in: position..<bytes.count))
  }

  func violate(_ what: String) {
    if Life.isTold { tell("VIOLATION: \(what)") }
    if pendingViolation == nil { pendingViolation = fail(what) }
  }

  func check(_ condition: Bool, _ what: @autoclosure () -> String) {
    if !condition { violate(what()) }
  }

  // MARK: Frames

  private func take(_ frame: FrameView, _ link: Link) throws(WireError) {
    let header = frame.header
    check(
      link.id != 0 || header.kind == .welcome || header.kind == .error,
      "link \(link.number) was told something before it was welcomed")
    tell("link \(link.number) is sent \(header.kind.map { "\($0)" } ?? "?") \(header.serial)")
    switch header.kind {
    case .welcome: welcome(try frame.decode(Welcome.self), link)
    case .post: notification(frame, link, isSnapshot: false)
    case .retained: notification(frame, link, isSnapshot: true)
    case .traffic:
      check(link.isMonitor, "link \(link.number) watches nothing, and was told what passes")
      countReceived(by: link)
      // A monitor is shown a delivered post once, as it came.
      if frame.payload.byteCount > 4,
        frame.payload.integer(at: 4, as: UInt8.self) == FrameKind.post.rawValue
      {
        link.trafficCount += 1
      }
    case .poster: poster(try frame.decode(PosterFacts.self), header, link)
    case .room:
      check(link.isLimited, "link \(link.number) was asked for a limit, and has none")
      link.mustSendLimit = true
    case .lost: lost(try frame.decode(Lost.self).count, link)
    case .ok: okay(try frame.decode(Okay.self), header.serial, link)
    case .error: error(try frame.decode(Refusal.self), frame, link)
    case .question: question(try frame.decode(Question.self), frame, link)
    case .verdict: verdict(try frame.decode(Verdict.self), header.serial, link)
    case .concluded: concluded(try frame.decode(Concluded.self), header.serial, link)
    case .awaited: awaited(try frame.decode(Awaited.self), header.serial, link)
    case .ended: ended(header.serial, try frame.decode(Ended.self), link)
    case .late: late(try frame.decode(Late.self), header.serial, link)
    case .progress: progress(try frame.decode(Progress.self), header.serial, link)
    case .entry:
      check(link.operation(header.serial) != nil, "link \(link.number) is listed what it did not ask for")
      let entry = try frame.decode(Entry.self)
      if case .connection(let one) = entry, one.id.rawValue == link.id {
        link.operation(header.serial)?.listsItself = true
      }
      if case .observation(let one) = entry, one.connection.rawValue == link.id {
        link.operation(header.serial)?.ownObservations += 1
      }
      if link.seat == setting.seatCount { inspected.append(entry) }
    default: violate("link \(link.number) was sent a frame of kind \(header.rawKind)")
    }
  }

  private func welcome(_ welcome: Welcome, _ link: Link) {
    check(link.id == 0, "link \(link.number) was welcomed twice")
    link.id = welcome.connection.rawValue
    check(
      connectionIDs.insert(link.id | link.epoch << 48).inserted,
      "the connection's id \(link.id) was given before")
  }

  func number(_ frame: FrameView, _ link: Link) -> Int? {
    var text = Array(frame.payload.extracting(first: min(frame.payload.byteCount, 20)).array)
    if frame.header.flags.contains(.descriptor) {
      guard case .descriptor(let file)? = link.inboundFiles.popFirst() else {
        violate("link \(link.number) was sent no file with its frame")
        return nil
      }
      text = [UInt8](repeating: 0, count: 20)
      let descriptor = file.rawValue
      _ = unsafe pread(descriptor, &text, 20, 0)
    }
    return Int(String(decoding: text.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self))
  }

  private func poster(_ facts: PosterFacts, _ header: FrameHeader, _ link: Link) {
    check(link.wantsPosters, "link \(link.number) was told who posts, and did not ask")
    check(header.sender == .bus && header.serial == 0, "a poster has a sender or a serial")
    check(facts.connection != .bus, "link \(link.number) was told that the bus posts")
    link.posters[facts.slot] = facts.connection
    guard let poster = known.last(where: { $0.id == facts.connection.rawValue && $0.epoch == link.epoch })
    else { return }
    check(
      facts.peer.pid == UInt32(poster.pid) && facts.peer.uid == poster.uid
        || facts.slot == PosterFacts.departedSlot && facts.peer.pid == 0
        || facts.slot == PosterFacts.waitingSlot && facts.peer.pid == 0,
      "link \(link.number) was told that \(facts.connection) is process \(facts.peer.pid), and it is \(poster.pid)"
    )
  }

  /// - Parameter needsRoom: false for the will or did of a delegate.
  private func countReceived(by link: Link, needsRoom: Bool = true) {
    check(
      !link.isLimited || !needsRoom || link.receivedCount < link.limit,
      "link \(link.number) has received \(link.receivedCount), and has no room for more")
    link.receivedCount += 1
  }

  private func notification(_ frame: FrameView, _ link: Link, isSnapshot: Bool) {
    // A delegate's will or did overtakes what waits for room or behind a snapshot.
    let mayOvertake =
      !isSnapshot && Naming.announces(String(repairing: frame.name))
      && (link.isLimited || link.registrations.contains { $0.wantsSnapshot })
    countReceived(by: link, needsRoom: !mayOvertake)
    counts.received += 1
    let header = frame.header
    if NameSyntax.isReserved(frame.name) { return announcement(frame, link) }
    let isEmpty = header.payloadLength == 0 && !header.flags.contains(.descriptor)
    let number = isEmpty ? Int(clamping: header.serial &- Posting.firstSerialOfItsOwn) : number(frame, link)
    guard let number, let post = posts[number] else {
      return violate("link \(link.number) received what nobody has posted")
    }
    check(
      header.sender.rawValue == post.link.id || post.link.id == 0,
      "post \(post.number) has the sender \(header.sender)")
    tell("  which is post \(post.number)")
    check(
      !link.wantsPosters || link.posters.values.contains(header.sender),
      "link \(link.number) received post \(post.number), and does not know who has posted it")
    check(
      frame.name.array.elementsEqual(post.name.utf8) && frame.object.array.elementsEqual(post.object.utf8)
        && (isSnapshot || header.serial == post.serial)
        && (header.flags.contains(.descriptor)
          || Int(header.payloadLength) == post.length
            && frame.payload.array.dropFirst("\(post.number);".utf8.count).allSatisfy { $0 == 32 }),
      "link \(link.number) received post \(post.number), and not as it was posted")
    let entries = link.expected.indices.filter {
      link.expected[$0].post === post && link.expected[$0].isSnapshot == isSnapshot
    }
    // The client may have missed a notification for its predecessor.
    let own = entries.filter { !link.expected[$0].isInherited }
    guard
      let index = own.first(where: { link.expected[$0].certainty == .certain })
        ?? own.first(where: { link.expected[$0].pending != nil }) ?? own.first ?? entries.first
    else {
      return violate(
        "link \(link.number) received post \(post.number) (\(post.name), \(post.object)) of link \(post.link.number), "
          + "which it should not, or twice")
    }
    let entry = link.expected[index]
    let hasFile = header.flags.contains(.descriptor)
    // A dead bus's log lacks the file of a post that waited for an idle bus.
    let mayLackFile = post.style == .whenIdle && post.takenAt <= diedAt
    check(
      hasFile == (post.isFile && link.acceptsFiles) || !hasFile && mayLackFile,
      "link \(link.number) received post \(post.number) with a file, or without")
    check(
      !(entry.isBuffered && entry.certainty == .certain && link.isSuspended == true),
      "link \(link.number) is suspended and received post \(post.number)")
    let before = link.expected[..<index].indices.filter {
      let other = link.expected[$0]
      return other.certainty == .certain && !other.isSnapshot && !isSnapshot && !mayOvertake
        && !other.isBuffered && !other.wasBuffered
        && other.post.link === post.link && other.post.style == post.style
    }
    let first = before.first.map { link.expected[$0].post.number } ?? 0
    check(
      UInt64(before.count) <= link.lostCount,
      "link \(link.number) received post \(post.number) before post \(first), or without having been told that it is lost"
    )
    check(
      !(entry.isOvertaken && entry.certainty == .certain),
      "link \(link.number) received post \(post.number) behind a later one")
    for earlier in before { link.expected[earlier].isOvertaken = true }
    if isSnapshot {
      let last = link.snapshots[header.serial] ?? 0
      let isOrdered = post.retainedAt > 0 && post.certainty == .certain
      check(
        !isOrdered || last <= post.retainedAt,
        "link \(link.number) received post \(post.number) in its snapshot, behind a later one")
      link.snapshots[header.serial] = isOrdered ? post.retainedAt : last
    } else if let observation = entry.precedes {
      check(
        link.snapshots[observation.serial] == nil,
        "link \(link.number) received post \(post.number) behind the snapshot of r\(observation.number)")
    }
    link.expected.remove(at: index)
    if post.options.contains(.awaited), !isSnapshot { link.owed.append((header.sender.rawValue, post)) }
  }

  private func lost(_ number: UInt64, _ link: Link) {
    counts.lost += Int(number)
    tell("  which is \(number)")
    check(number > 0, "link \(link.number) was told that nothing is lost")
    check(
      link.mayLose || link.isMonitor || link.isFollower,
      "link \(link.number) was told that \(number) are lost, and nothing was in the way")
    link.lostCount += number
    link.receivedCount += number
  }

  @discardableResult
  func reply(_ serial: Serial, _ link: Link) -> Operation? {
    guard let operation = link.operation(serial), operation.awaitsReply else {
      violate("link \(link.number) was answered to \(serial), which it did not ask, or twice")
      return nil
    }
    check(operation.isTaken, "link \(link.number) was answered to \(serial) before it was read")
    operation.awaitsReply = false
    return operation
  }

  private func okay(_ okay: Okay, _ serial: Serial, _ link: Link) {
    guard let operation = link.operation(serial) else {
      return violate("link \(link.number) was told that \(serial) is done, which it did not send")
    }
    reply(serial, link)
    switch operation.what {
    case .impersonate(let other):
      violate("link \(link.number) was let in for link \(other.number), of another process")
    case .list(.connections):
      check(operation.listsItself, "link \(link.number) is not in its list of connections")
    case .list(.observations):
      let own = link.registrations.count {
        $0.isObservation && isCertain($0) && $0.takenAt < operation.takenAt
      }
      check(
        own <= operation.ownObservations || operation.takenAt <= startedAt,
        "link \(link.number) has \(own) observations, and is listed \(operation.ownObservations)")
    case .amend(let hold, let number): hold.knownReason = number
    case .ask, .stray: violate("link \(link.number) was told that \(serial) is done, which nobody can do")
    case .post(let post):
      check(
        !post.options.contains(.awaited),
        "post \(post.number) is awaited, and its poster hears only that it has come")
      check(!post.isForbidden, "post \(post.number) was let in, and the policy forbids it")
    default: break
    }
    guard case .register(let registration) = operation.what else { return }
    check(
      registration.refusal == nil,
      "r\(registration.number) was let in, and had to be refused: \(registration.refusal.map { "\($0)" } ?? "")"
    )
    registration.mayBeRefused = false
    judge(expiry: okay.expiry, of: registration)
    for index in link.expected.indices where link.expected[index].pending === registration {
      link.expected[index].certainty = .certain
      link.expected[index].pending = nil
    }
    guard registration.isDelegate || registration.isHold else { return }
    judge(Int(okay.late), of: registration)
    let named = link.registration(okay.registration) ?? registration
    if named === registration {
      if let other = delegateIDs[okay.delegate | link.epoch << 48] {
        violate("the id \(okay.delegate) of r\(registration.number) was given to r\(other.number) before")
      }
      delegateIDs[okay.delegate | link.epoch << 48] = registration
      registration.id = okay.delegate
    }
  }

  private func error(_ refusal: Refusal, _ frame: FrameView, _ link: Link) {
    let message = String(decoding: frame.payload.array, as: UTF8.self)
    guard frame.header.serial != 0 else { return dismissed(link, refusal.code, message) }
    guard let operation = link.operation(frame.header.serial) else {
      return violate(
        "link \(link.number) was refused \(frame.header.serial), which it did not send: \(message)")
    }
    // A cancelled post keeps its effects.
    operation.isRefused = operation.awaitedPost == nil || refusal.code != .cancelled
    switch operation.what {
    case .answer(let question, _), .defer(let question, _):
      check(
        refusal.code == .notAsked && !(operation.certainty == .certain && isWaited(for: question)),
        "link \(link.number) may not answer: \(message)")
    case .done: check(refusal.code == .notAsked, "link \(link.number) may not be done: \(message)")
    case .cancel, .impersonate: reply(frame.header.serial, link)
    case .amend(let hold, _):
      reply(frame.header.serial, link)
      check(
        refusal.code == .notFound && (!hold.isKnown || hold.mayBeEndedByPolicy || hold.mayHaveExpired)
          || refusal.code == .limitExceeded && setting.isTight,
        "link \(link.number) may not change the reason of r\(hold.number): \(message)")
    case .stray(let code):
      reply(frame.header.serial, link)
      check(
        refusal.code == code || refusal.code == .limitExceeded && (link.losesFiles || setting.isTight),
        "link \(link.number) is refused what it should be refused with \(code): \(message)")
    case .succeed:
      reply(frame.header.serial, link)
      // Misses of the predecessor's observation are uncounted if the log was full or the client came too late. The
      // predecessor's own loss report covers the rest.
      check(
        setting.isTight || operation.certainty != .certain
          || link.expected.count { $0.isInherited && $0.certainty == .certain } <= link.lostCount,
        "link \(link.number) may not succeed: \(message)")
      for index in link.expected.indices where link.expected[index].isInherited {
        link.expected[index].certainty = .possible
      }
    case .list: reply(frame.header.serial, link)
    case .ask(let query):
      reply(frame.header.serial, link)
      defer { (query.isCancelled, query.isOver) = (true, true) }
      switch refusal.code {
      case .cancelled where query.isCancelled || operation.certainty != .certain: break
      case .limitExceeded where setting.isTight: break
      case .recursion where query.mayRecur: break
      default: violate("link \(link.number) may not ask: \(message)")
      }
    case .post(let post):
      if operation.awaitsReply { reply(frame.header.serial, link) }
      check(
        post.certainty != .certain || operation.certainty != .certain
          || refusal.code == .cancelled && post.isCancelled,
        "link \(link.number) may not post: \(message)")
    case .register(let registration):
      reply(frame.header.serial, link)
      check(
        registration.mayHaveExpired || registration.refusal != nil && refusal.code == registration.refusal
          || (setting.isTight || registration.mayExceedLimit) && refusal.code == .limitExceeded,
        "link \(link.number) may not register: \(message)")
      retract(registration)
    case .suspend: violate("link \(link.number) may not suspend: \(message)")
    case .hello, .room, .pace: break
    case .garbage:
      violate("link \(link.number) was refused \(frame.header.serial), and not closed: \(message)")
    }
  }

  private func dismissed(_ link: Link, _ code: ErrorCode?, _ message: String) {
    link.isDismissed = true
    switch code {
    case .restarted:
      link.isDismissed = false
      check(
        link.detachedUntil != nil || link.fate != .survives || link.isToBeClosed,
        "link \(link.number) must connect again for nothing")
      return
    case .helloTimeout, .frameTimeout:
      check(link.isLate(at: Kernel.now), "link \(link.number) had more time to say what it began to say")
    case let code? where link.closingErrors.contains(code): break
    default: violate("link \(link.number) was closed: \(message)")
    }
    forgetAll(of: link)
  }

  private func ended(_ link: Link) throws(Violation) {
    guard !link.hasEnded else { return }
    link.hasEnded = true
    tell("link \(link.number) has ended")
    try require(
      link.isDismissed || link.isForgotten || link.detachedUntil != nil || link.fate == .ends
        || bus == nil && !keeping.has(cookie: link.cookie)
        || link.cookie == 0 && link.fate != .survives || link.isLate(at: Kernel.now)
        || link.isBeginningGarbage,
      "link \(link.number) was closed without a word and without need")
  }
}

extension RawSpan {
  var array: [UInt8] { Array(self) }
}
