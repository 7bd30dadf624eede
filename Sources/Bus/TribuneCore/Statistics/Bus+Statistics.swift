// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

extension Bus {
  struct Tallies {
    var names = Busiest<String, NameCounts>()
    var participants = Busiest<ParticipantKey, ParticipantCounts>()
  }

  // MARK: Counting

  mutating func beginCounting() {
    totals = Totals()
    tallies.names.beginCounting()
    tallies.participants.beginCounting()
  }

  mutating func tally(ofChain chain: Int, _ name: RawSpan, for uid: UInt32) -> Tally<NameCounts> {
    if let tally = chains.tally(at: chain), uid != 0 || tally.uid.value == 0 { return tally }
    let tally = self.tally(ofName: String(repairing: name), for: uid)
    chains.remember(tally, at: chain)
    return tally
  }

  /// Questions about the host count in root's share (`inShares`), even if another user asks them.
  mutating func tally(ofName name: String, for uid: UInt32) -> Tally<NameCounts> {
    tallies.names.tally(of: name, for: WellKnownQuestions.isOfTheHost(name) ? 0 : uid)
  }

  mutating func count(_ verdict: Verdict, ofQueryAt place: Int, at now: Instant) {
    guard let tally = queries[place].tally else { return }
    tally.update { counts in
      counts.asked &+= 1
      if case .vetoed = verdict.verdict, !queries[place].isForValues { counts.vetoed &+= 1 }
      if verdict.isOverridden { counts.overridden &+= 1 }
      queries[place].count(in: &counts.outcomes)
      // A query that asked no delegate has no waiting time.
      if queries[place].hasAskedAnybody {
        counts.durations.record(nanoseconds: now.nanoseconds(since: queries[place].started))
      }
    }
  }

  mutating func countOutcome(
    _ failure: ObserverFailure?, of slot: ConnectionSlot, since posted: Instant, at now: Instant
  ) {
    let tally: Tally<ParticipantCounts>
    if let known = connections[slot].observerTally {
      tally = known
    } else {
      let peer = connections[slot].peer
      tally = tallies.participants.tally(of: ParticipantKey(.observer, peer), for: peer.uid)
      connections[slot].observerTally = tally
    }
    tally.update { $0.count(OutcomeKind(failure), afterNanoseconds: now.nanoseconds(since: posted)) }
  }

  // MARK: Lists

  /// The counts of the busiest names, busiest first. The last entry, without a name, sums up the counts of
  /// all other names.
  package var nameEntries: [NameEntry] {
    let (busiest, others) = tallies.names.all
    var entries = busiest.map { $1.entry(named: $0) }
    if others.activity > 0 { entries.append(others.entry(named: "")) }
    return entries
  }

  /// An entry without a name sums up many names, so the connection must have permission to list everything.
  package func mayList(_ entry: NameEntry, for slot: ConnectionSlot?) -> Bool {
    guard entry.name.isEmpty else {
      return mayList(Pattern(accepted: entry.name), object: nil, of: .bus, for: slot)
    }
    if let slot, case .only = visibleUsers(for: slot) { return false }
    return true
  }

  package func mayList(
    _ name: String, object: String, askedBy user: UInt32, for slot: ConnectionSlot?
  ) -> Bool {
    guard let slot, connections[slot].peer.uid != user else { return true }
    return mayList(Pattern(accepted: name), object: object, of: .bus, for: slot)
  }

  package func participantEntries(for slot: ConnectionSlot?) -> [ParticipantEntry] {
    let (busiest, others) = tallies.participants.all
    let visible = slot.map { visibleUsers(for: $0) } ?? .all
    var entries = busiest.filter { visible.contains($0.key.uid) }.map { $1.entry(of: $0) }
    if case .all = visible, others.activity > 0 { entries.append(others.entryOfOthers) }
    return entries
  }

  package func queryEntries(
    of connection: ConnectionID, for slot: ConnectionSlot?, at now: Instant
  ) -> [QueryEntry] {
    guard let asker = connections[connection] else { return [] }
    let queries = connections[asker].queries.values.compactMap { id -> QueryEntry? in
      guard let place = self.queries.place(of: id) else {
        preconditionFailure("query \(id.rawValue) has ended, and its asker still has it")
      }
      let tail = self.queries.tail(at: place)
      guard
        mayList(
          Pattern(accepted: tail.nameText), object: tail.objectText, of: self.queries[place].asker.id,
          for: slot)
      else { return nil }
      return self.queries[place].entry(name: tail.nameText, object: tail.objectText, at: now)
    }
    return queries + actionEntries(of: connections[asker], for: slot, at: now)
  }
}

extension NameCounts {
  fileprivate func entry(named name: String) -> NameEntry {
    NameEntry(
      name: name, asked: asked, vetoed: vetoed, overridden: overridden, cancelled: cancelled,
      outcomes: outcomes, durations: durations)
  }
}

extension ParticipantCounts {
  fileprivate func entry(of key: ParticipantKey) -> ParticipantEntry {
    ParticipantEntry(
      role: key.role, label: key.label, unit: key.unit, uid: key.uid, outcomes: outcomes, durations: durations
    )
  }

  fileprivate var entryOfOthers: ParticipantEntry {
    ParticipantEntry(
      role: .delegate, label: "", unit: "", uid: .max, outcomes: outcomes, durations: durations)
  }
}

extension Query {
  private static let listedMax = 256

  fileprivate func entry(name: String, object: String, at now: Instant) -> QueryEntry {
    let held = standing.prefix(Self.listedMax).map { QueryParticipant($0) }
    // If not all participants fit in the list, prefer participants for which the query waits.
    var awaitedLeft = Self.listedMax - held.count
    var othersLeft = max(0, awaitedLeft - participants.count(where: \.isAwaited))
    awaitedLeft -= othersLeft
    var listed: [QueryParticipant] = []
    for participant in participants {
      if participant.isAwaited, awaitedLeft > 0 {
        awaitedLeft -= 1
      } else if !participant.isAwaited, othersLeft > 0 {
        othersLeft -= 1
      } else {
        continue
      }
      listed.append(participant.entry(at: now))
    }
    let count = standing.count + omittedHolds + participants.count
    return QueryEntry(
      id: id, connection: asker.id, peer: asker.peer, name: name, object: object, mode: ask.mode,
      isDryRun: ask.flags.contains(.isDryRun), age: now.nanoseconds(since: started) / 1000,
      remaining: deadline.nanoseconds(since: now) / 1000, participants: held + listed,
      omittedCount: UInt32(clamping: count - held.count - listed.count))
  }
}

extension QueryParticipant {
  fileprivate init(_ standing: Outcome) {
    self.init(
      connection: .bus, delegate: standing.delegate, state: .settled, outcome: standing.outcome,
      reason: standing.reason, elapsed: 0, remaining: 0)
  }
}

extension Query.Participant {
  fileprivate var isAwaited: Bool { if case .waiting = state { true } else { false } }

  fileprivate func entry(at now: Instant) -> QueryParticipant {
    var entry = QueryParticipant(
      connection: delegate.connection, delegate: delegate.identity, state: .unasked, outcome: .approved,
      reason: "", elapsed: 0, remaining: 0)
    switch state {
    case .unasked: break
    case .waiting(let until):
      entry.state = wasAsked ? .asked : .queued
      entry.elapsed = now.nanoseconds(since: asked) / 1000
      entry.remaining = until.nanoseconds(since: now) / 1000
    case .settled(let outcome, let reason):
      (entry.state, entry.outcome, entry.reason) = (.settled, outcome, reason)
      entry.elapsed = elapsedNanoseconds / 1000
    }
    return entry
  }
}
