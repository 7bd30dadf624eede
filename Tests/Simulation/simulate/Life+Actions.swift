// SPDX-License-Identifier: Apache-2.0

import TribuneTestSupport
import TribuneWire

/// The model of actions under way. The bus begins one with its verdict, which the client reads later.
extension Life {
  /// The client has read that its query is allowed.
  func begin(_ query: Query, _ link: Link) {
    guard !link.isForgotten, !query.isCancelled else { return }
    let action = Registration(
      number: number(), link: link, serial: query.serial, what: .action, patterns: [query.name],
      object: query.object)
    action.takenAt = taken
    if link.detachedUntil != nil || link.fate != .survives || setting.isTight { action.certainty = .possible }
    link.registrations.append(action)
    counts.actions += 1
  }

  /// The bus may have begun an action of which the client has not read. A daemon that died may not have cancelled it.
  func mayAct(_ link: Link) -> Bool {
    queries.contains { query in
      query.link === link && query.flags.contains(.begins) && query.takenAt > 0 && query.verdict == nil
    }
  }

  /// Tells the next bus that an action is under way, as the library does.
  func begin(_ link: Link, _ name: String, _ object: String) {
    let action = Registration(
      number: number(), link: link, serial: link.serial(), what: .action, patterns: [name], object: object)
    link.compose(.register(action), serial: action.serial, awaitsReply: true) {
      $0.appendFrame(Begin(query: QueryID(rawValue: 0)), serial: action.serial, name: name, object: object)
    }
  }

  /// Waits to begin, as a patient guard does.
  func wait(_ link: Link) {
    let claims = random.oneIn(2)
    let place = Registration(
      number: number(), link: link, serial: link.serial(), what: .waiting(claims: claims),
      patterns: [random.pick(Naming.queryNames)], object: random.pick(Naming.objects))
    link.compose(.register(place), serial: place.serial, awaitsReply: true) {
      $0.appendFrame(
        Begin(query: QueryID(rawValue: 0), stage: claims ? .claiming : .waiting), serial: place.serial,
        name: place.patterns[0], object: place.object)
    }
  }

  /// True if it certainly came before all places that the asker has in this line.
  func isAhead(_ place: Registration, of query: Query) -> Bool {
    place.link !== query.link
      && query.link.registrations.allSatisfy {
        !$0.isWaiting || !$0.isFor(query.name, query.object) || $0.certainty == .gone && !$0.wasInDoubt
          || $0.takenAt > place.takenAt
      }
  }

  /// True if the hold came after a claim of the asker on what the query asks. False if the claim has perhaps
  /// ended.
  func isPassed(_ hold: Registration, by query: Query) -> Bool {
    claims(of: query, before: hold).contains { isCertain($0) && !$0.wasInDoubt } && !hold.wasInDoubt
  }

  /// The claims that perhaps let the query pass the hold.
  func claims(of query: Query, before hold: Registration) -> [Registration] {
    query.link.registrations.filter {
      $0.isClaim && $0.patterns == [query.name] && $0.object == query.object && $0.takenAt < hold.takenAt
    }
  }

  /// The bus has said how many actions a hold or delegate came too late for.
  func judge(_ late: Int, of registration: Registration) {
    registration.lateCount = late
    guard !registration.wasInDoubt else { return }
    // A delegate counts each action once, whatever its patterns.
    let certain = registration.missed.count { !$0.wasInDoubt }
    check(late >= certain, "r\(registration.number) is too late for \(certain) actions, and was told \(late)")
    let most = possibleActions(for: registration)
    check(
      late <= most, "r\(registration.number) was told \(late) late actions, and there are \(most) at most")
  }

  /// The number that may have been under way or claimed when the bus took the hold or delegate.
  private func possibleActions(for registration: Registration) -> Int {
    possibleActions(since: registration.takenAt, for: registration.isFor)
      + known.flatMap(\.registrations).count {
        $0.isClaim && registration.isFor($0.patterns[0], $0.object)
          && !isOver($0, before: registration.takenAt)
      }
  }

  private func possibleActions(since time: Int, for isFor: (String, String) -> Bool) -> Int {
    let begun = queries.count { query in
      query.flags.contains(.begins) && query.takenAt > 0
        && query.verdict.map { $0.verdict == .allowed } ?? true
        && isFor(query.name, query.object)
        && !isOver(query.link.registration(query.serial), before: time)
    }
    let continued = known.flatMap(\.registrations).count { action in
      action.isAction && isFor(action.patterns[0], action.object)
        && !queries.contains { $0.link === action.link && $0.serial == action.serial }
        && !isOver(action, before: time)
    }
    return begun + continued
  }

  private func isOver(_ action: Registration?, before time: Int) -> Bool {
    guard let action, action.certainty == .gone, !action.wasInDoubt else { return false }
    return action.goneAt < time && action.goneAt > tookOverAt
  }

  /// Actions fill all slots of a vetoed query, and not those of an allowed one.
  func judgeSlots(of query: Query, _ verdict: Verdict) {
    let occupied = query.occupants.count { isCertain($0) && !$0.wasInDoubt }
    check(
      verdict.verdict == .vetoed || verdict.isOverridden || query.slots == 0 || occupied < query.slots,
      "query \(query.number) was allowed beside \(occupied) actions, and has \(query.slots) slots")
    guard verdict.outcomes.contains(where: \.isOfAction) else { return }
    let most =
      known.flatMap(\.registrations).count { $0.isWaiting && $0.isFor(query.name, query.object) }
      + possibleActions(since: query.takenAt) { name, object in
        name == query.name && (object == query.object || object.isEmpty || query.object.isEmpty)
      }
    check(
      query.slots > 0 && most >= query.slots,
      "query \(query.number) has \(query.slots) slots, and was vetoed by actions, of which there are \(most)")
  }

  /// A hold learns that the last of these actions has ended, or of one that has begun without the bus.
  func late(_ late: Late, _ serial: Serial, _ link: Link) {
    guard let hold = link.registration(serial), hold.isHold else {
      return violate("link \(link.number) was told that \(serial) is late, which is no hold")
    }
    check(hold.id == 0 || late.delegate.rawValue == hold.id, "r\(hold.number) is late under another id")
    defer { hold.lateCount = Int(late.actions) }
    guard late.actions == 0 else {
      return check(
        Int(late.actions) == hold.lateCount + 1, "r\(hold.number) is late for more than one more action")
    }
    check(hold.lateCount > 0, "r\(hold.number) is settled, and was late for nothing")
    for action in hold.missed where isCertain(action) && !action.wasInDoubt {
      violate("r\(hold.number) is settled before the end of r\(action.number)")
    }
  }

  /// At rest, a late hold waits for something.
  func judgeLateHolds() {
    for link in known where !link.isForgotten {
      for hold in link.registrations where hold.isHold && hold.lateCount > 0 && isCertain(hold) {
        check(
          possibleActions(for: hold) > 0,
          "r\(hold.number) is late for \(hold.lateCount) actions, which have all ended")
      }
    }
  }
}

extension Outcome {
  var isOfAction: Bool { outcome == .held && delegate.id.rawValue == 0 }
}
