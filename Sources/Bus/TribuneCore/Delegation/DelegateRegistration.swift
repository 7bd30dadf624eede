// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// A delegate. After it has left its chain, queries keep this object to name the delegate in verdicts.
package final class DelegateRegistration {
  package let identity: DelegateIdentity
  package let connection: ConnectionID
  package let slot: ConnectionSlot
  package let serial: Serial
  /// Empty if the delegate is for any object.
  package let object: String
  var objectFilter: String? { object.isEmpty ? nil : object }
  package let order: Int32
  package let failurePolicy: FailurePolicy
  /// In milliseconds.
  package let timeout: UInt32
  package let patterns: [Pattern]
  let patternTokenCount: Int

  /// The bytes charged for the delegate in each query in which it takes part.
  let rememberedLength: Int

  let inbox: QuestionInbox
  let tally: Tally<ParticipantCounts>

  private let open = Cell(OpenQueries())

  private let attached = Cell(true)

  private let lookup = Cell<UInt64>(0)

  /// Returns false if this lookup has already found the delegate.
  func markFound(by lookup: UInt64) -> Bool {
    guard self.lookup.value != lookup else { return false }
    self.lookup.value = lookup
    return true
  }

  /// Becomes false when the delegate leaves its chain, and then stays false.
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

  /// Equal for delegates with the same object, names and label. Objects and names contain no line breaks, so
  /// different parts cannot give the same key.
  static func dedupKey(object: String, patterns: [Pattern], label: String) -> ExactText {
    let names = Set(patterns.map(\.text)).sorted().joined(separator: " ")
    return ExactText("\(object)\n\(names)\n\(label)")
  }

  var dedupKey: ExactText { Self.dedupKey(object: object, patterns: patterns, label: identity.label) }

  var openQueries: [QueryID] { open.value.all }

  func beginWaiting(_ query: QueryID) { open.value.insert(query) }

  func endWaiting(_ query: QueryID) {
    guard open.value.remove(query) else {
      preconditionFailure("query \(query.rawValue) did not wait for delegate \(identity.id.rawValue)")
    }
  }

  func precedes(_ other: DelegateRegistration) -> Bool {
    (order, identity.id) < (other.order, other.identity.id)
  }

  /// The entry by which replaced delegates learn of this delegate. The entry has only the first few patterns:
  /// if one `set` replaces thousands of delegates of one connection, the connection's queue gets thousands of
  /// these entries.
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
