// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

/// Asks a query again after each change that may end its vetoes: ends of holds and actions, changes of
/// delegates, reloads, and the question's *may* notification (a delegate would now answer otherwise). To miss
/// no change, this type observes changes before it asks.
struct PatientQuery: Sendable {
  let query: Query
  let patience: Patience
  let subject: String
  let presence: BusPresence
  /// True to print vetoes as JSON on standard output; false to report them as text on standard error.
  let writesJSON: Bool

  private let changes = ChangeSignal()

  init(
    _ query: Query, _ patience: Patience, subject: String, presence: BusPresence = BusPresence(),
    writesJSON: Bool
  ) {
    (self.query, self.patience, self.subject) = (query, patience, subject)
    (self.presence, self.writesJSON) = (presence, writesJSON)
  }

  func connect(in context: Context) async throws(TribuneError) -> Connection {
    try await context.connectToStay(
      within: patience.bound(context.timeout), updating: presence, onReturn: { changes.signal() })
  }

  /// - Parameter connection: the result of `connect`.
  /// - Returns: the last verdict. If the time ends during the first query, this verdict may lack the answers
  ///   of slow delegates.
  func ask(over connection: Connection, in context: Context) async throws(TribuneError) -> Tribune.Verdict {
    // `patience.span` counts from now, and so does not include an earlier wait for a bus.
    let patience = patience.fromNow()
    let news = try await bounded(by: patience.bound(context.timeout)) {
      [self] () async throws(TribuneError) -> Notifications in
      try await connection.observe(anyOf: observedNames)
    }
    let watching = Task { await watch(news) }
    defer { watching.cancel() }
    let place = try await placeInLine(over: connection, in: context)
    var vetoes = StandingVetoes(against: subject, default: query.fallback, recheck: patience.pause)
    let verdict = try await patience.verdict(
      changes,
      ask: { isFirst async throws(TribuneError) -> Tribune.Verdict? in
        try await askOnce(over: connection, isFirst: isFirst, in: context)
      },
      show: { verdict in
        guard !context.isQuiet else { return }
        let isHeld = verdict.outcomes.contains { $0.kind == .held }
        let ages = isHeld ? await holdAges(over: connection, in: context) : [:]
        let changed = vetoes.take(verdict, holdAges: ages, at: .now)
        if !changed.isEmpty { show(verdict, vetoes, changed, in: context) }
      })
    do throws(TribuneError) {
      try await place?.end()
    } catch {
      // A place ends with its connection.
      guard error.code == .connectionLost else { throw error }
    }
    return verdict
  }

  /// Those that wait for the same slots begin in the order in which they took their places. Holds that come
  /// after a claim do not veto it.
  private func placeInLine(
    over connection: Connection, in context: Context
  ) async throws(TribuneError) -> Action? {
    guard query.slots != nil || query.claims else { return nil }
    return try await bounded(by: context.timeout) { [query] () async throws(TribuneError) -> Action in
      try await connection.wait(toBegin: query.name, object: query.object, claims: query.claims)
    }
  }

  /// - Parameter isFirst: true before the first verdict.
  /// - Returns: nil while the connection looks for the bus.
  private func askOnce(
    over connection: Connection, isFirst: Bool, in context: Context
  ) async throws(TribuneError) -> Tribune.Verdict? {
    guard connection.hasEnded || !presence.isUnreachable else { return nil }
    do throws(TribuneError) {
      while true {
        await presence.waitUntilSettled()
        var query = query
        // Until the first verdict, a question's deadline is at most `patience.span`, even if a part of this
        // span has passed. If the deadline were only the rest of the span, required delegates could time out,
        // which is a veto. If no verdict has come by `Patience.end` plus `Patience.grace`, `ask` throws.
        if isFirst, let span = patience.span {
          query.deadline = min(query.deadline ?? connection.bus.deadlineDefault, span)
        }
        let verdict = try await query.ask(over: connection, isFirst: isFirst, in: context)
        // A bus that has lost its state may still lack some clients' holds, so the loop asks again.
        if presence.isSettled { return verdict }
      }
    } catch {
      // If the bus is reachable and does not answer, that is an error.
      guard !connection.hasEnded, error.code == .connectionLost || presence.isUnreachable else { throw error }
      return nil
    }
  }

  private var observedNames: [String] {
    ["tribune.hold.didRelease", "tribune.delegate.didAttach", "tribune.delegate.didDetach"]
      + ["tribune.bus.didReload"]
      + (query.slots == nil ? [] : ["tribune.action.didEnd", "tribune.action.didStopWaiting"])
      + (NameSyntax.may(forQuestion: query.name).map { [$0] } ?? [])
  }

  private func watch(_ news: Notifications) async {
    do throws(TribuneError) {
      for try await delivery in news {
        if case .notification(let news) = delivery, let vetoer = Departures.Vetoer(leavingIn: news) {
          patience.departures.leaves(vetoer, at: patience.time.now())
        }
        if !changes.isSignalled, mayEndVeto(delivery) { changes.signal() }
      }
      changes.end()
    } catch {
      changes.end()
    }
  }

  /// True if the delivery may end a veto against one of the question's two names. With a scope, tribune-nats
  /// answers to `askedName`, and asks the other delegates by `name`.
  private func mayEndVeto(_ delivery: Delivery) -> Bool {
    Set([query.name, query.askedName]).contains { delivery.mayEndVeto(of: $0, object: query.object) }
  }

  /// The ages of the holds, by their ids; empty if this user may not list them.
  private func holdAges(over connection: Connection, in context: Context) async -> [UInt64: Duration] {
    do throws(TribuneError) {
      let explanation = try await bounded(by: context.timeout) {
        [self] () async throws(TribuneError) -> Explanation in
        // The bus logs each refused request for a list, so this function first checks the permission.
        try await connection.requirePermission(to: "list", query.askedName, object: query.object)
        return try await connection.explain(query.askedName, object: query.object)
      }
      return Dictionary(explanation.holds.map { ($0.id, $0.age) }, uniquingKeysWith: { first, _ in first })
    } catch {
      return [:]
    }
  }

  private func show(
    _ verdict: Tribune.Verdict, _ vetoes: StandingVetoes, _ changed: [String], in context: Context
  ) {
    if writesJSON, context.writesValues {
      context.show { () throws(CommandError) in try context.print(vetoes.json(of: verdict, at: .now)) }
    } else {
      for line in changed { context.terminal.reportLine(line) }
    }
  }
}

extension Delivery {
  /// True if the verdict may change after this delivery. A loss or an interruption counts, because it may
  /// hide the end of a veto.
  ///
  /// - Parameter object: empty for all objects.
  func mayEndVeto(of name: String, object: String) -> Bool {
    guard case .notification(let news) = self else { return true }
    guard object.isEmpty || news.object.isEmpty || news.object == object else { return false }
    switch news.name {
    case "tribune.hold.didRelease": return news.isAbout(name, patternsIn: "pattern")
    case "tribune.action.didEnd", "tribune.action.didStopWaiting":
      return news.isAbout(name, patternsIn: "name")
    case "tribune.delegate.didAttach", "tribune.delegate.didDetach":
      return news.isAbout(name, patternsIn: "respondsTo")
    default: return true
    }
  }
}

extension Tribune.Notification {
  /// True if a pattern in this member of the userInfo matches the name, or if the member is unreadable.
  fileprivate func isAbout(_ name: String, patternsIn member: String) -> Bool {
    guard let member = userInfo.jsonRoot?[member] else { return true }
    let patterns = member.kind == .array ? (0..<member.count).map { member[$0]?.string } : [member.string]
    do {
      return try patterns.contains { try $0.map { try Pattern($0).matches(name.utf8Bytes) } ?? true }
    } catch {
      return true
    }
  }
}
