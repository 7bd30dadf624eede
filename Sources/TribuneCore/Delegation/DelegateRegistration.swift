// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// One delegate in a chain. Its queries hold it, so that a verdict can name a delegate that has gone;
/// whether it still takes part is `isAttached`.
package final class DelegateRegistration {
  package let identity: DelegateIdentity
  package let connection: ConnectionID
  package let slot: ConnectionSlot
  package let serial: Serial
  /// Empty for any.
  package let object: String
  package let order: Int32
  package let failurePolicy: FailurePolicy
  /// Milliseconds.
  package let timeout: UInt32
  /// Each once.
  package let patterns: [Pattern]
  /// Tokens of all of them.
  let patternTokenCount: Int
  /// Protocols that it says it conforms to.
  package let protocols: [String]

  /// Bytes that count for it in each query that it takes part in.
  let rememberedLength: Int

  private let open = Cell(OpenQueries())

  private let attached = Cell(true)

  /// Cleared when it leaves the chain, and never set again.
  package internal(set) var isAttached: Bool {
    get { attached.value }
    set { attached.value = newValue }
  }

  init(
    identity: DelegateIdentity, connection: ConnectionID, slot: ConnectionSlot, serial: Serial,
    object: String, order: Int32, failurePolicy: FailurePolicy, timeout: UInt32, patterns: [Pattern],
    protocols: [String]
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
    self.protocols = protocols
    rememberedLength = identity.rememberedLength
  }

  /// What two registrations of one connection have in common when they are the same thing: the object,
  /// the names, in whatever order, and the label. Neither object nor names hold a line break, so nothing
  /// else reads the same.
  static func likeness(object: String, patterns: [Pattern], label: String) -> ExactText {
    let names = Set(patterns.map(\.text)).sorted().joined(separator: " ")
    return ExactText("\(object)\n\(names)\n\(label)")
  }

  var likeness: ExactText {
    Self.likeness(object: object, patterns: patterns, label: identity.label)
  }

  /// Queries that wait for it.
  var openQueries: [QueryID] { open.value.all }

  func beginWaiting(_ query: QueryID) { open.value.insert(query) }

  func endWaiting(_ query: QueryID) {
    guard open.value.remove(query) else {
      preconditionFailure("query \(query.rawValue) did not wait for delegate \(identity.id.rawValue)")
    }
  }

  /// Whether that, coming of it, counts as a veto.
  func isVeto(_ outcome: OutcomeKind) -> Bool {
    switch outcome {
    case .vetoed, .held: true
    case .timedOut, .gone, .failed: failurePolicy == .veto
    case .approved, .abstained, .answered: false
    }
  }

  /// Whether it stands before `other`: by order, then by time of attaching, which ids count.
  func precedes(_ other: DelegateRegistration) -> Bool {
    (order, identity.id) < (other.order, other.identity.id)
  }

  /// What a delegate is told that this one has replaced. There can be thousands of those: of the patterns it has
  /// only the first few, so that what they are told of it together fits in the queue of one connection.
  var heirEntry: DelegateEntry {
    var entry = entry
    entry.patterns = Array(entry.patterns.prefix(WireLimits.patternsOfHeir))
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
