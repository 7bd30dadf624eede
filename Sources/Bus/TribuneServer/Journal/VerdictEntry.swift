// SPDX-License-Identifier: Apache-2.0

package import TribuneCore
import TribuneJSON
package import TribuneWire

/// A verdict's journal entry. docs/CONCEPTS.md lists its fields.
nonisolated package struct VerdictEntry: Sendable {
  /// The message id in systemd/tribune.catalog.
  package static let messageID = "7410e8ab9fd04abe9eb6b38ea90ed596"
  package static let overriddenMessageID = "e7932ba2c09d4f228b9e17f54e330131"
  /// The message id of an entry that counts missing verdicts or entries.
  package static let omittedMessageID = "baa7334ff1734bbc8d8f82147d4ab446"

  package static let outcomesMax = 64
  /// In bytes. The entry cuts longer reasons.
  package static let reasonLength = 1_024

  struct Listed: Sendable {
    let outcome: Outcome
    /// True also for a failure that the delegate's failure policy turns into a veto.
    let isVeto: Bool
  }

  let name: String
  let object: String
  let asker: PeerIdentity
  let askerConnection: ConnectionID
  let query: QueryID
  let verdict: VerdictKind
  let isUnanswered: Bool
  let overrideReason: String?
  let mode: QueryMode
  let elapsedMicroseconds: UInt64
  /// At most `outcomesMax` outcomes, in the order of the chain. If there are more, vetoes take precedence.
  let listed: [Listed]
  let outcomeCount: Int
  let vetoCount: Int

  /// - Parameter vetoes: the indexes of the vetoing outcomes.
  package init(
    name: String, object: String, asker: PeerIdentity, askerConnection: ConnectionID, verdict: Verdict,
    vetoes: OutcomePlaces, omittedVetoCount: Int = 0, overrideReason: String = "", mode: QueryMode,
    elapsedMicroseconds: UInt64
  ) {
    self.name = name
    self.object = object
    self.asker = asker
    self.askerConnection = askerConnection
    query = verdict.query
    self.verdict = verdict.verdict
    isUnanswered = verdict.isUnanswered
    self.overrideReason = verdict.isOverridden ? overrideReason : nil
    self.mode = mode
    self.elapsedMicroseconds = elapsedMicroseconds
    outcomeCount = verdict.outcomes.count + Int(verdict.omittedCount)
    vetoCount = vetoes.count + omittedVetoCount

    var vetoPlaces = min(vetoes.count, Self.outcomesMax)
    var otherPlaces = Self.outcomesMax - vetoPlaces
    var listed: [Listed] = []
    for (index, outcome) in verdict.outcomes.enumerated() {
      if vetoPlaces == 0, otherPlaces == 0 { break }
      let isVeto = vetoes.contains(index)
      if isVeto {
        guard vetoPlaces > 0 else { continue }
        vetoPlaces -= 1
      } else {
        guard otherPlaces > 0 else { continue }
        otherPlaces -= 1
      }
      listed.append(Listed(outcome: outcome, isVeto: isVeto))
    }
    self.listed = listed
  }

  /// The weight of a verdict in a `LineBudget`: one line, and one more for each 4 KiB of its journal entry.
  /// The sum counts labels and reasons six times: up to five fields contain them, and escapes lengthen them.
  package static func weight(of verdict: Verdict) -> Int {
    let bytes = verdict.outcomes.prefix(outcomesMax).reduce(0) { sum, outcome in
      sum + 512 + 6 * (outcome.delegate.label.utf8.count + min(outcome.reason.utf8.count, reasonLength))
    }
    return 1 + bytes / 4096
  }

  var byteCount: Int {
    listed.reduce(name.utf8.count + object.utf8.count + 512) { sum, listed in
      sum + listed.outcome.reason.utf8.count + 256
    }
  }

  package var level: Log.Level { Self.level(of: verdict, isOverridden: overrideReason != nil) }

  package static func level(of verdict: VerdictKind, isOverridden: Bool) -> Log.Level {
    if isOverridden { return .warning }
    return verdict == .vetoed ? .notice : .info
  }

  // MARK: For people

  /// `backup.shouldPrune repo/main: vetoed by restore (pid 42, restore.service): a restore is running`.
  package var message: String {
    let subject = object.isEmpty ? name : "\(name) \(object)"
    var text = "\(subject): \(decision)"
    if let overrideReason {
      let who = asker.nameOr("connection \(askerConnection)")
      text += "; overridden by \(who)\(asker.details): \(Self.cut(overrideReason))"
    }
    return text
  }

  private var decision: String {
    if let first = listed.first(where: \.isVeto) {
      let others = vetoCount > 1 ? " (and \(vetoCount - 1) more)" : ""
      return switch first.outcome.outcome {
      case .vetoed: first.outcome.clause + others
      case .held: "vetoed, \(first.outcome.clause)" + others
      default: "vetoed, as \(first.outcome.clause)" + others
      }
    }
    if isUnanswered { return "\(verdict.word) by default: no delegate approved or vetoed" }
    return verdict.word
  }

  // MARK: For the journal

  var journalEntry: JournalEntry { journalEntry(listing: Self.outcomesMax) }

  func journalEntry(listing listedMax: Int) -> JournalEntry {
    let listed = self.listed.prefix(listedMax)
    var entry = JournalEntry(level, message)
    entry.append("MESSAGE_ID", overrideReason == nil ? Self.messageID : Self.overriddenMessageID)
    entry.append("TRIBUNE_NAME", name)
    if !object.isEmpty { entry.append("TRIBUNE_OBJECT", object) }
    entry.append("TRIBUNE_QUERY", String(query.rawValue))
    entry.append("TRIBUNE_ASKER_CONNECTION", askerConnection.description)
    entry.append("TRIBUNE_ASKER_PID", String(asker.pid))
    entry.append("TRIBUNE_ASKER_UID", String(asker.uid))
    if !asker.process.isEmpty { entry.append("TRIBUNE_ASKER_PROCESS", asker.process) }
    if !asker.units.primary.isEmpty { entry.append("TRIBUNE_ASKER_UNIT", asker.units.primary) }
    if !asker.units.system.isEmpty { entry.append("TRIBUNE_ASKER_SYSTEM_UNIT", asker.units.system) }
    if !asker.units.user.isEmpty { entry.append("TRIBUNE_ASKER_USER_UNIT", asker.units.user) }
    entry.append("TRIBUNE_VERDICT", verdict.word)
    entry.append("TRIBUNE_UNANSWERED", isUnanswered ? "yes" : "no")
    if let overrideReason { entry.append("TRIBUNE_OVERRIDE", Self.cut(overrideReason)) }
    entry.append("TRIBUNE_MODE", "\(mode)")
    entry.append("TRIBUNE_ELAPSED_USEC", String(elapsedMicroseconds))
    entry.append("TRIBUNE_DELEGATES", String(outcomeCount))
    entry.append("TRIBUNE_VETOES", String(vetoCount))
    for listed in listed {
      let outcome = listed.outcome
      entry.append("TRIBUNE_OUTCOME", outcome.clause)
      guard listed.isVeto else { continue }
      entry.append("TRIBUNE_VETO", outcome.clause)
      entry.append("TRIBUNE_VETOED_BY", outcome.who)
      let units = outcome.delegate.peer.units
      if !units.primary.isEmpty { entry.append("TRIBUNE_VETOED_BY_UNIT", units.primary) }
      if !units.system.isEmpty { entry.append("TRIBUNE_VETOED_BY_SYSTEM_UNIT", units.system) }
      if !units.user.isEmpty { entry.append("TRIBUNE_VETOED_BY_USER_UNIT", units.user) }
      if !outcome.reason.isEmpty { entry.append("TRIBUNE_REASON", Self.cut(outcome.reason)) }
    }
    entry.append("TRIBUNE_OUTCOMES", JSONValue.array(listed.map(\.outcome.json)).compact)
    if outcomeCount > listed.count {
      entry.append("TRIBUNE_OUTCOMES_OMITTED", String(outcomeCount - listed.count))
    }
    return entry
  }

  var override: [(name: String, value: JSONValue)] {
    [
      ("query", .unsigned(query.rawValue)), ("name", .string(name)),
      ("reason", .string(Self.cut(overrideReason ?? ""))),
      ("asker", .object(asker.members(on: askerConnection))),
      ("vetoes", .array(listed.filter(\.isVeto).map(\.outcome.json))),
    ]
  }

  fileprivate static func cut(_ text: String) -> String {
    text.utf8.count <= reasonLength ? text : text.prefix(utf8Length: reasonLength) + "…"
  }
}

nonisolated extension VerdictKind {
  fileprivate var word: String { "\(self)" }
}

nonisolated extension PeerIdentity {
  fileprivate func nameOr(_ other: String) -> String { process.isEmpty ? other : process }

  /// ` (pid 42, restore.service)`; empty without a process.
  fileprivate var details: String {
    guard pid != 0 else { return "" }
    let units = units.text
    return units.isEmpty ? " (pid \(pid))" : " (pid \(pid), \(units))"
  }
}

nonisolated extension Outcome {
  fileprivate var who: String {
    delegate.label.isEmpty ? delegate.peer.nameOr("delegate \(delegate.id.rawValue)") : delegate.label
  }

  /// `vetoed by restore (pid 42, restore.service): a restore is running`.
  fileprivate var clause: String {
    let who = self.who + delegate.peer.details
    let clause =
      switch outcome {
      case .approved, .vetoed, .held, .answered: "\(outcome) by \(who)"
      case .abstained, .failed: "\(who) \(outcome)"
      case .timedOut: "\(who) timed out"
      case .gone: "\(who) is gone"
      }
    return reason.isEmpty ? clause : "\(clause): \(VerdictEntry.cut(reason))"
  }

  /// The same JSON that tribunectl prints for an outcome.
  fileprivate var json: JSONValue {
    let peer = delegate.peer
    return .object(
      [
        ("delegate", .unsigned(delegate.id.rawValue)), ("label", .string(delegate.label)),
        ("outcome", .string("\(outcome)")), ("reason", .string(VerdictEntry.cut(reason))),
        ("pid", .unsigned(UInt64(peer.pid))), ("uid", .unsigned(UInt64(peer.uid))),
        ("process", .string(peer.process)),
      ] + peer.units.members + [("elapsed", .seconds(.microseconds(elapsed)))])
  }
}

nonisolated extension VerdictEntry {
  init(_ decision: Decision, of tail: QueryTail) {
    self.init(
      name: tail.nameText, object: tail.objectText, asker: decision.askerPeer,
      askerConnection: decision.asker, verdict: decision.verdict, vetoes: decision.vetoes,
      omittedVetoCount: decision.omittedVetoCount,
      overrideReason: decision.overrideReason, mode: decision.mode,
      elapsedMicroseconds: decision.elapsedNanoseconds / 1000)
  }
}
