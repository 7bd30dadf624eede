// SPDX-License-Identifier: Apache-2.0

import TribuneServer
import TribuneTestSupport
import TribuneWire

extension Life {
  func inspect() throws(Violation) {
    let seat = setting.seatCount
    guard let link = connect(seat, isHonest: true) else { throw fail("nobody can connect") }
    let serials = [
      ListSubject.connections, .observations, .delegates, .holds, .objects, .retained, .accounts, .names,
    ].map { subject in
      let serial = link.serial()
      link.compose(.list(subject), serial: serial, awaitsReply: true) {
        $0.appendFrame(List(subject), serial: serial)
      }
      return serial
    }
    inspected = []
    var rounds = 0
    while serials.contains(where: { link.operation($0)?.awaitsReply == true }) {
      rounds += 1
      try require(rounds < 100 && !link.hasEnded, "the bus does not list what it has")
      link.send()
      try iterate(faults: Faults())
      Kernel.turnKeeper()
      try read(seat, everything: true)
    }
    try require(
      !setting.keepsAll || isKeeperGone || bus?.isAllKept != false, "the keeper has room, and lacks something"
    )
    try judgeConnections(besides: link)
    try judgeObservations()
    try judgeDelegates()
    try judgeHolds()
    try judgeObjects()
    try judgeRetained()
    try judgeCharges()
    try judgeCounts()
    leave(seat)
    try iterate(faults: Faults())
  }

  private func link(id: ConnectionID) -> Link? { known.last { $0.id == id.rawValue && $0.epoch == epoch } }

  private func isThere(_ link: Link) -> Bool {
    !link.isForgotten && !link.hasLeft && !link.hasEnded && link.detachedUntil == nil && link.id != 0
      && link.epoch == epoch
  }

  private func registrations(_ isWanted: (Registration) -> Bool) -> [Registration] {
    known.flatMap(\.registrations).filter { $0.certainty != .gone && isWanted($0) }
  }

  private func mustBeListed(_ registration: Registration) -> Bool {
    isCertain(registration) && isThere(registration.link)
  }

  private func judgeConnections(besides inspector: Link) throws(Violation) {
    var listed: Set<Int> = []
    // A client that has left may not have read its id.
    var strangers = known.count { !$0.isForgotten && $0.id == 0 }
    for case .connection(let entry) in inspected {
      guard let link = link(id: entry.id) else {
        strangers -= 1
        try require(strangers >= 0, "connection \(entry.id) is listed, which nobody has")
        continue
      }
      try require(listed.insert(link.number).inserted, "link \(link.number) is listed twice")
      try require(!link.isForgotten, "link \(link.number) is listed, and the bus knows nothing of it")
      try require(
        entry.peer.pid == UInt32(link.pid) && entry.peer.uid == link.uid,
        "link \(link.number) is listed as \(entry.peer)")
      guard isThere(link) else { continue }
      try require(
        link === inspector || link.isMonitor || link.isFollower || entry.queued == 0,
        "link \(link.number) has read everything, and \(entry.queued) bytes are queued")
      if let isSuspended = link.isSuspended {
        try require(entry.isSuspended == isSuspended, "link \(link.number) is listed as suspended, or is not")
      }
      if setting.keepsAll, !setting.isTight, !isKeeperGone,
        link.registrations.contains(where: { $0.isKnown && $0.certainty == .certain })
      {
        try require(entry.isSurviving, "link \(link.number) is listed as one that survives no restart")
      }
      let posts = link.operations.filter {
        if case .post = $0.what { $0.isTaken && !$0.isRefused } else { false }
      }
      // Each daemon counts from 0.
      let least = posts.count {
        $0.takenAt > tookOverAt && $0.certainty == .certain && !$0.mayHaveBeenRefused
      }
      let most = posts.count { $0.takenAt > startedAt }
      try require(
        UInt64(least) <= entry.posted && entry.posted <= UInt64(most),
        "link \(link.number) has posted \(least) to \(most), and \(entry.posted) are listed")
    }
    for link in known where isThere(link) && link !== inspector {
      try require(listed.contains(link.number), "link \(link.number) is not listed")
    }
  }

  private func judgeObservations() throws(Violation) {
    var left = inspected
    func take(_ registration: Registration) -> Bool {
      let index = left.firstIndex {
        guard case .observation(let entry) = $0,
          case .observation(let behavior, let isAwaited) = registration.what
        else { return false }
        return entry.connection.rawValue == registration.link.id && entry.object == registration.object
          && entry.pattern == Naming.listed(registration.patterns[0]) && entry.suspension == behavior
          && entry.isAwaited == isAwaited
      }
      if let index { left.remove(at: index) }
      return index != nil
    }
    let all = registrations(\.isObservation)
    for registration in all where mustBeListed(registration) {
      try require(take(registration), "r\(registration.number) is not listed")
    }
    for registration in all where !mustBeListed(registration) { _ = take(registration) }
    for case .observation(let entry) in left where link(id: entry.connection) != nil {
      throw fail(
        "link \(link(id: entry.connection)?.number ?? 0) has no observation of \(entry.pattern), and it is listed"
      )
    }
  }

  private func judgeDelegates() throws(Violation) {
    var listed: Set<Int> = []
    let all = registrations(\.isDelegate)
    for case .delegate(let entry) in inspected {
      guard let registration = all.first(where: { $0.label == entry.delegate.label }),
        case .delegate(_, let policy, let timeout, let order) = registration.what
      else { throw fail("\(entry.delegate.label) is listed, and is no delegate") }
      try require(listed.insert(registration.number).inserted, "r\(registration.number) is listed twice")
      try require(
        entry.object == registration.object && Set(entry.patterns) == Set(registration.patterns)
          && entry.order == order
          && entry.failurePolicy == policy
          && entry.timeout == (timeout == 0 ? registration.defaultTimeout : timeout)
          && (registration.id == 0 || entry.delegate.id.rawValue == registration.id)
          && (registration.link.id == 0 || entry.connection.rawValue == registration.link.id),
        "r\(registration.number) is listed as \(entry)")
    }
    for registration in all where mustBeListed(registration) {
      try require(listed.contains(registration.number), "r\(registration.number) is not listed")
    }
  }

  private func judgeHolds() throws(Violation) {
    var listed: Set<Int> = []
    let all = registrations(\.isHold)
    for case .hold(let entry) in inspected {
      guard let registration = all.first(where: { $0.mayHave(entry.why) }) else {
        throw fail("\(entry.why) is listed, and is no hold")
      }
      try require(listed.insert(registration.number).inserted, "r\(registration.number) is listed twice")
      let remaining = registration.expiry.map { expiry in
        (expiry.lowerBound - min(expiry.lowerBound, Kernel.now))
          / 1000...(expiry.upperBound
          - min(expiry.upperBound, Kernel.now)) / 1000
      }
      try require(
        entry.object == registration.object && entry.pattern == Naming.listed(registration.patterns[0])
          && (remaining ?? 0...0).contains(entry.remaining)
          && (registration.id == 0 || entry.delegate.id.rawValue == registration.id)
          && (registration.link.id == 0 || entry.connection.rawValue == registration.link.id),
        "r\(registration.number) is listed as \(entry)")
    }
    for registration in all where mustBeListed(registration) {
      try require(listed.contains(registration.number), "r\(registration.number) is not listed")
    }
  }

  private func judgeObjects() throws(Violation) {
    let all = registrations { if case .declaration = $0.what { true } else { false } }
    var declared: [String: ConnectionID] = [:]
    for case .object(let entry) in inspected where !entry.protocolName.isEmpty {
      try require(
        declared.updateValue(entry.connection, forKey: entry.object) == nil, "\(entry.object) is listed twice"
      )
      try require(all.contains { $0.object == entry.object }, "\(entry.object) is listed, and not declared")
    }
    for registration in all where mustBeListed(registration) {
      try require(
        declared[registration.object]?.rawValue == registration.link.id,
        "r\(registration.number) is not listed")
    }
  }

  private func judgeRetained() throws(Violation) {
    var listed: Set<Int> = []
    var keys: Set<[String]> = []
    for case .retained(let entry) in inspected {
      try require(
        keys.insert([entry.name, entry.object]).inserted,
        "\(entry.name) of \"\(entry.object)\" is listed twice")
      let candidates = (retained + possiblyRetained).filter {
        $0.name == entry.name && $0.object == entry.object && $0.link.uid == entry.uid
          && ($0.link.id == entry.connection.rawValue || $0.link.id == 0) && Int(entry.length) == $0.length
      }
      try require(
        !candidates.isEmpty, "\(entry.name) of \"\(entry.object)\" is listed as retained by user \(entry.uid)"
      )
      listed.formUnion(candidates.map(\.number))
    }
    for post in retained
    where post.certainty == .certain
      && !possiblyRetained.contains(where: { $0.isSame(as: post) })
    {
      try require(listed.contains(post.number), "post \(post.number) is not listed as retained")
    }
    for post in retainedOrReplaced where post.displaced[0].certainty == .certain {
      try require(
        listed.contains(post.number) || listed.contains(post.displaced[0].number),
        "neither post \(post.number) nor what it replaced is listed as retained")
    }
  }

  /// Each daemon counts from 0 what it was asked.
  private func judgeCounts() throws(Violation) {
    var held: [String: Int] = [:]
    for query in queries
    where query.takenAt > tookOverAt && query.verdict != nil && !query.flags.contains(.isDryRun) {
      held[query.name, default: 0] += query.holds.count
    }
    for case .name(let entry) in inspected {
      let least = held.removeValue(forKey: entry.name) ?? 0
      try require(
        entry.outcomes.held >= UInt64(least),
        "\(entry.name) has met \(least) holds, and \(entry.outcomes.held) are counted")
    }
    try require(held.allSatisfy { $0.value == 0 }, "holds were met, and are not counted: \(held)")
  }

  /// Of retained notifications, by the rule of `RetainedNotification.cost`.
  private func judgeCharges() throws(Violation) {
    var costs: [UInt32: UInt64] = [:]
    for case .retained(let entry) in inspected {
      let tokens = entry.name.split(separator: ".").count
      let bytes = Int(entry.length) + entry.name.utf8.count + entry.object.utf8.count + 256 * (1 + tokens)
      costs[entry.uid, default: 0] += UInt64(bytes)
    }
    for case .account(let entry) in inspected where entry.resource == "retained" {
      try require(
        entry.used == costs[entry.uid] ?? 0,
        "user \(entry.uid) is charged \(entry.used), and retains \(costs[entry.uid] ?? 0)")
      costs[entry.uid] = nil
    }
    try require(costs.isEmpty, "nobody is charged for what is retained: \(costs)")
  }
}
