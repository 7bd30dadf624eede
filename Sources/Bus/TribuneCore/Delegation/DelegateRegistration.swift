// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// One delegate in a chain. Its queries keep it, so that a verdict can name a delegate that has gone. `isAttached`
/// says whether it is still in the chain.
package final class DelegateRegistration {
  package let identity: DelegateIdentity
  package let connection: ConnectionID
  package let slot: ConnectionSlot
  package let serial: Serial
  /// Empty for any object.
  package let object: String
  /// Nil for any.
  var objectFilter: String? { object.isEmpty ? nil : object }
  package let order: Int32
  package let failurePolicy: FailurePolicy
  /// Milliseconds.
  package let timeout: UInt32
  /// Without duplicates.
  package let patterns: [Pattern]
  /// Tokens of all patterns.
  let patternTokenCount: Int

  /// Bytes charged for it in each query that it takes part in.
  let rememberedLength: Int

  /// Its questions, and those of the connection's other delegates.
  let inbox: QuestionInbox
  /// What is counted of its answers.
  let tally: Tally<ParticipantCounts>

  private let open = Cell(OpenQueries())

  private let attached = Cell(true)

  /// The lookup that found it last.
  private let lookup = Cell<UInt64>(0)

  /// - Returns: whether this lookup has not found it before.
  func isFound(by lookup: UInt64) -> Bool {
    guard self.lookup.value != lookup else { return false }
    self.lookup.value = lookup
    return true
  }

  /// Cleared when it leaves the chain, and never set again.
  package internal(set) var isAttached: Bool {
    get { attached.value }
    set { attached.value = newValue }
  }

  init(
    identity: DelegateIdentity, connection: ConnectionID, slot: ConnectionSlot, serial: Serial,
    object: String, order: Int32, failurePolicy: FailurePolicy, timeout: UInt32, patterns: [Pattern],
    inbox: QuestionInbox, tally: Tally<ParticipantCounts>
  ) {
    self.identity = identity
    self.connection = connection
    self.slot = slot
    self.serial = serial
    self.object = object
    self.order = order
    self.failurePolicy = failurePolicy
    self.timeout = timeout
    self.patterns = patterns
    patternTokenCount = patterns.reduce(0) { $0 + $1.tokenCount }
    self.inbox = inbox
    self.tally = tally
    rememberedLength = identity.rememberedLength
  }

  /// The dedup key: registrations of one connection are the same if they have the same object, the same names in any
  /// order, and the same label. Neither object nor names contain a line break, so the key is unambiguous.
  static func dedupKey(object: String, patterns: [Pattern], label: String) -> ExactText {
    let names = Set(patterns.map(\.text)).sorted().joined(separator: " ")
    return ExactText("\(object)\n\(names)\n\(label)")
  }

  var dedupKey: ExactText { Self.dedupKey(object: object, patterns: patterns, label: identity.label) }

  /// Queries that wait for it.
  var openQueries: [QueryID] { open.value.all }

  func beginWaiting(_ query: QueryID) { open.value.insert(query) }

  func endWaiting(_ query: QueryID) {
    guard open.value.remove(query) else {
      preconditionFailure("query \(query.rawValue) did not wait for delegate \(identity.id.rawValue)")
    }
  }

  /// Whether that outcome of this delegate counts as a veto.
  func isVeto(_ outcome: OutcomeKind) -> Bool {
    switch outcome {
    case .vetoed, .held: true
    case .timedOut, .gone, .failed: failurePolicy == .veto
    case .approved, .abstained, .answered: false
    }
  }

  /// Whether it precedes `other`: by order, then by id, which follows the time of attaching.
  func precedes(_ other: DelegateRegistration) -> Bool {
    (order, identity.id) < (other.order, other.identity.id)
  }

  /// The entry that is sent to each delegate that this one has replaced. It has only the first few patterns: there can
  /// be thousands of replaced delegates, and their entries together must fit in the queue of one connection.
  var replacementEntry: DelegateEntry {
    var entry = entry
    entry.patterns = Array(entry.patterns.prefix(WireLimits.patternsOfReplacement))
    return entry
  }

  package var entry: DelegateEntry {
    DelegateEntry(
      connection: connection, delegate: identity, object: object, order: order,
      failurePolicy: failurePolicy, timeout: timeout, patterns: patterns.map(\.text))
  }
}

extension DelegateRegistration: Hashable {
  package static func == (one: DelegateRegistration, other: DelegateRegistration) -> Bool { one === other }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
