// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneTestSupport
import TribuneWire

extension Life {
  func act(_ seat: Int) {
    guard let link = links[seat] else {
      if random.oneIn(2) { connect(seat) }
      return
    }
    if link.hasEnded || link.hasLeft {
      comeBack(seat)
      return
    }
    guard link.isOpen else { return }
    for _ in 0..<(random.oneIn(6) ? Int.random(in: 2...20, using: &random) : 1) { doSomething(link) }
    switch Int.random(in: 0..<8, using: &random) {
    case 0: link.send(atMost: Int.random(in: 1...60, using: &random))
    case 1: break
    default: link.send()
    }
  }

  @discardableResult
  func connect(_ seat: Int, isHonest: Bool = false) -> Link? {
    linkCount += 1
    let link = Link(
      number: linkCount, seat: seat, pid: processes[seat], uid: 1000 + UInt32(seat % 3),
      acceptsFiles: random.oneIn(2), isLimited: !isHonest && random.oneIn(2))
    guard link.connect(to: listener) else { return nil }
    links[seat] = link
    known.append(link)
    unaccepted.append(link)
    greet(link, isHonest: isHonest)
    if !isHonest, random.oneIn(3) {
      let limit = random.pick([0, 1, 150, UInt16.max])
      link.compose(.pace) { $0.appendFrame(Pace(limit: limit), serial: 0) }
    }
    if link.isLimited { link.grant(random.oneIn(4) ? 0 : Int.random(in: 1...8, using: &random)) }
    if random.oneIn(2) { link.send() }
    return link
  }

  func leave(_ seat: Int) {
    guard let link = links[seat] else { return }
    if random.oneIn(2) { link.send() }
    link.hasLeft = true
    link.close()
    for registration in link.registrations where registration.certainty == .certain {
      registration.certainty = .possible
    }
    links[seat] = nil
    // Another process takes the seat.
    processes[seat] += 1000
  }

  /// Connects, registers again and asks for the number of missed notifications, as the library does after a lost
  /// connection.
  private func comeBack(_ seat: Int) {
    guard let old = links[seat] else { return }
    guard random.oneIn(2) else {
      if random.oneIn(8) { leave(seat) }
      return
    }
    old.close()
    links[seat] = nil
    guard let link = connect(seat), !old.isDismissed, old.id != 0, old.detachedUntil != nil, !old.isSucceeded
    else { return }
    for registration in old.registrations where registration.certainty != .gone {
      switch registration.what {
      case .observation(let behavior, let isAwaited):
        observe(link, registration.patterns[0], registration.object, behavior, isAwaited, snapshot: false)
      case .delegate(let isSet, let policy, let timeout, let order) where !isSet:
        attach(link, registration.patterns, registration.object, false, policy, timeout, order)
      case .hold(let expiry) where expiry == 0:
        hold(
          link, registration.patterns[0], registration.object, expiry: registration.expiry?.lowerBound ?? 0)
      case .action: begin(link, registration.patterns[0], registration.object)
      default: break
      }
    }
    let serial = link.serial()
    link.compose(.succeed(old), serial: serial, awaitsReply: true) {
      $0.appendFrame(
        Succeed(predecessor: ConnectionID(rawValue: old.id), received: old.receivedCount), serial: serial)
    }
    if !random.oneIn(4) { link.send() }
  }

  // MARK: One thing

  func doSomething(_ link: Link) {
    if link.isLimited, random.oneIn(3) || link.mustSendLimit && random.oneIn(2) {
      link.grant(random.oneIn(4) ? 0 : Int.random(in: 1...20, using: &random))
    }
    link.growth = random.oneIn(12) ? Int.random(in: 1...40, using: &random) : 0
    defer { link.growth = 0 }
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<36: post(link)
    case 36..<38: strayFrame(link)
    case 38: follow(link)
    case 39..<48:
      observe(
        link, random.oneIn(5) ? "" : random.pick(Naming.patterns), random.pick(Naming.objects),
        random.pick(SuspensionBehavior.allCases), random.oneIn(4), snapshot: random.oneIn(4))
    case 48..<54:
      attach(
        link, (0..<Int.random(in: 1...2, using: &random)).map { _ in patternToAnswer(link) },
        random.pick(Naming.objects), random.oneIn(8), random.oneIn(2) ? .veto : .abstain,
        random.oneIn(3) ? 0 : UInt32.random(in: 20...900, using: &random),
        Int32.random(in: -2...2, using: &random))
    case 54..<58:
      if random.oneIn(2), let hold = link.registrations.last(where: { $0.isHold && $0.certainty == .certain })
      {
        return amend(hold)
      }
      let expiry =
        random.oneIn(2) ? 0 : Kernel.now + UInt64.random(in: 1_000_000...9_000_000_000, using: &random)
      hold(link, patternToAnswer(link), random.pick(Naming.objects), expiry: expiry)
    case 58..<68: ask(link)
    case 68..<82: answer(link)
    case 82..<86: cancel(link)
    case 86..<90: suspend(link)
    case 90..<92: monitor(link)
    case 92..<94: list(link)
    case 94..<97: acknowledge(link)
    case 97: if random.oneIn(2) { declare(link) } else { wait(link) }
    case 98:
      if !isSlow, random.oneIn(3) { garbage(link) }
    default: if random.oneIn(2) { strayFrame(link) } else { impersonate(link) }
    }
  }

  func observe(
    _ link: Link, _ pattern: String, _ object: String, _ behavior: SuspensionBehavior, _ isAwaited: Bool,
    snapshot: Bool
  ) {
    let registration = register(link, .observation(behavior, isAwaited: isAwaited), [pattern], object)
    registration.wantsSnapshot = snapshot
    if registration.follows { link.isFollower = true }
    var options: ObserveOptions = []
    if isAwaited { options.insert(.awaited) }
    if snapshot { options.insert(.retained) }
    compose(registration) {
      $0.appendFrame(
        Observe(options: options, suspension: behavior), serial: registration.serial, name: pattern,
        object: object)
    }
  }

  func attach(
    _ link: Link, _ patterns: [String], _ object: String, _ isSet: Bool, _ policy: FailurePolicy,
    _ timeout: UInt32, _ order: Int32
  ) {
    let what = Registration.What.delegate(isSet: isSet, policy, timeout: timeout, order: order)
    let registration = register(link, what, patterns, object)
    compose(registration) {
      $0.appendFrame(
        Attach(
          order: order, failurePolicy: policy, timeout: timeout, label: registration.label,
          patterns: patterns, isSet: isSet, protocols: random.oneIn(4) ? ["Prunable"] : []),
        serial: registration.serial, object: object)
    }
  }

  func hold(_ link: Link, _ pattern: String, _ object: String, expiry: UInt64) {
    let registration = register(link, .hold(expiry: expiry), [pattern], object)
    compose(registration) {
      $0.appendFrame(
        Hold(expiry: expiry), serial: registration.serial, name: pattern, object: object,
        text: registration.label)
    }
  }

  private func amend(_ hold: Registration) {
    let (link, serial) = (hold.link, hold.link.serial())
    hold.sentReason += 1
    link.compose(.amend(hold, hold.sentReason), serial: serial, awaitsReply: true) {
      $0.appendFrame(Amend(target: hold.serial), serial: serial, text: hold.why(hold.sentReason))
    }
  }

  private func monitor(_ link: Link) {
    guard random.oneIn(4) else { return }
    let registration = register(link, .monitor, [random.oneIn(2) ? "" : random.pick(Naming.patterns)], "")
    compose(registration) {
      $0.appendFrame(Monitor(), serial: registration.serial, name: registration.patterns[0])
    }
  }

  private func declare(_ link: Link) {
    let registration = register(link, .declaration, [], "declared/\(numbers + 1)")
    let name = "P\(registration.number)"
    compose(registration) {
      $0.appendFrame(
        Declare(protocolName: name), serial: registration.serial, object: registration.object,
        text: """
          protocol \(name)A { optional should thing.shouldGo (now: bool) }
          protocol \(name)B { required should thing.shouldGo (now: bool) optional should thing.shouldStop () }
          protocol \(name) : \(name)A, \(name)B {}
          """)
    }
    guard !setting.isTight, !isStrictUser(link) else { return }
    // It lacks a method that only the second parent requires.
    refuse(link, .notConforming) {
      $0.appendFrame(
        Attach(
          order: 0, failurePolicy: .veto, timeout: 0, label: "", patterns: ["thing.shouldStop"], isSet: false,
          protocols: [name]), serial: $1, object: registration.object)
    }
  }

  private func register(
    _ link: Link, _ what: Registration.What, _ patterns: [String], _ object: String
  ) -> Registration {
    Registration(
      number: number(), link: link, serial: link.serial(), what: what, patterns: patterns, object: object)
  }

  private func compose(_ registration: Registration, _ write: (ByteBuffer) -> Void) {
    registration.link.compose(.register(registration), serial: registration.serial, awaitsReply: true, write)
  }

  private func cancel(_ link: Link) {
    let serials =
      link.registrations.filter { $0.certainty == .certain }.map(\.serial)
      + queries.filter { $0.link === link && $0.verdict == nil }.map(\.serial)
      + link.operations.filter { $0.awaitsReply && $0.awaitedPost != nil }.map(\.serial)
    guard let target = serials.randomElement(using: &random) else { return }
    let serial = link.serial()
    link.compose(.cancel(target), serial: serial, awaitsReply: true) {
      $0.appendFrame(Cancel(target: target), serial: serial)
    }
  }

  private func suspend(_ link: Link) {
    let isSuspended = link.isSuspended == true ? random.oneIn(4) : random.oneIn(2)
    let serial = link.serial()
    link.compose(.suspend(isSuspended), serial: serial, awaitsReply: true) {
      $0.appendFrame(Suspend(isSuspended: isSuspended), serial: serial)
    }
  }

  private func list(_ link: Link) {
    let serial = link.serial()
    // Accounts count descriptors that other threads close, so their list would differ between runs.
    let subject = random.pick([
      ListSubject.bus, .connections, .observations, .delegates, .holds, .objects, .retained, .chain,
      .protocols, .members,
    ])
    link.compose(.list(subject), serial: serial, awaitsReply: true) {
      $0.appendFrame(
        List(subject, connection: random.oneIn(4) ? link.id : 0), serial: serial,
        name: subject == .chain ? Naming.queryNames[0] : "")
    }
  }

  func acknowledge(_ link: Link) {
    guard !link.owed.isEmpty else { return }
    let (poster, post) = link.owed.removeFirst()
    let serial = link.serial()
    let hasFailed = random.oneIn(4)
    link.compose(.done(post, hasFailed: hasFailed), serial: serial) {
      $0.appendFrame(
        Done(poster: ConnectionID(rawValue: poster), post: post.serial, hasFailed: hasFailed), serial: serial)
    }
  }

  private func impersonate(_ link: Link) {
    let others = known.suffix(60).filter { $0.id != 0 && $0.pid != link.pid }
    guard let other = others.randomElement(using: &random) else { return }
    let serial = link.serial()
    link.compose(.impersonate(other), serial: serial, awaitsReply: true) {
      $0.appendFrame(
        Succeed(predecessor: ConnectionID(rawValue: other.id), received: other.receivedCount), serial: serial)
    }
  }
}
