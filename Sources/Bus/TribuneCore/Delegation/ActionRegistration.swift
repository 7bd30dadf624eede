// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// An action under way: it has begun, and has not ended. Or a place in the line of those that wait to begin.
final class ActionRegistration {
  /// The id of the query that allowed the action. Without such a query, the bus gave the action a new id.
  let id: QueryID
  let connection: ConnectionID
  let peer: PeerIdentity
  let slot: ConnectionSlot
  let serial: Serial
  /// The name of the question.
  let name: Pattern
  /// nil if the action is about all objects.
  let object: ExactText?
  let began: Instant
  /// The last id of holds and delegates when the action began, or was claimed. Matching holds with higher ids
  /// came too late.
  let lastDelegate: DelegateID
  /// Never `asked`.
  let stage: ActionStage

  init(
    id: QueryID, connection: ConnectionID, peer: PeerIdentity, slot: ConnectionSlot, serial: Serial,
    name: Pattern, object: ExactText?, began: Instant, lastDelegate: DelegateID,
    stage: ActionStage = .underWay
  ) {
    self.id = id
    self.connection = connection
    self.peer = peer
    self.slot = slot
    self.serial = serial
    self.name = name
    self.object = object
    self.began = began
    self.lastDelegate = lastDelegate
    self.stage = stage
  }

  var isUnderWay: Bool { stage == .underWay }

  /// The bytes charged for the action in the log.
  var rememberedLength: Int { Self.rememberedLength(keyLength: name.text.utf8.count + objectText.utf8.count) }

  static func rememberedLength(keyLength: Int) -> Int { 192 + keyLength }

  var objectText: String { object?.text ?? "" }

  /// True if a hold or delegate with this pattern and object could have vetoed the action. If `object` is
  /// nil, the hold or delegate is for any object.
  func isMet(by pattern: Pattern, _ object: ExactText?) -> Bool {
    guard pattern.matches(name.text.utf8Bytes) else { return false }
    guard let object, let own = self.object else { return true }
    return own == object
  }

  /// The veto against a query for which this action fills a slot.
  func outcome(at now: Instant) -> Outcome {
    Outcome(
      delegate: DelegateIdentity(id: DelegateID(rawValue: 0), label: "", peer: peer), outcome: .held,
      reason: isUnderWay ? "\(name.text) is under way" : "waits for \(name.text), and came before",
      elapsed: now.nanoseconds(since: began) / 1000)
  }

  func isTooLate(_ hold: HoldRegistration) -> Bool {
    stage != .waiting && hold.identity.id > lastDelegate
      && isMet(by: hold.pattern, hold.object.map(ExactText.init))
  }

  func entry(at now: Instant) -> QueryEntry {
    QueryEntry(
      id: id, connection: connection, peer: peer, name: name.text, object: objectText, mode: .all,
      isDryRun: false, age: now.nanoseconds(since: began) / 1000, remaining: 0, participants: [],
      omittedCount: 0, stage: stage)
  }
}

/// The actions under way, and the line of those that wait to begin.
struct Actions {
  private var all: [UInt64: ActionRegistration] = [:]
  private var line: [UInt64: ActionRegistration] = [:]
  /// Holds that were taken too late for at least one action under way or claim.
  private var late: [UInt64: HoldRegistration] = [:]

  var count: Int { all.count }
  var hasNoLine: Bool { line.isEmpty }
  /// With the line.
  var inOrder: [ActionRegistration] { (Array(all.values) + line.values).sorted { $0.id < $1.id } }

  /// With the line.
  func count(of uid: UInt32) -> Int {
    all.values.count { $0.peer.uid == uid } + line.values.count { $0.peer.uid == uid }
  }

  subscript(id: QueryID) -> ActionRegistration? { all[id.rawValue] ?? line[id.rawValue] }

  /// The number of actions that match one of the patterns and the object. A nil object means any object.
  func count(metBy patterns: [Pattern], _ object: ExactText?) -> Int {
    if all.isEmpty { return 0 }
    return all.values.count { action in patterns.contains { action.isMet(by: $0, object) } }
  }

  /// The actions that match the name and the object, oldest first. A nil object means any object.
  func met(by name: Pattern, _ object: ExactText?) -> [ActionRegistration] {
    all.values.filter { $0.isMet(by: name, object) }.sorted { $0.id < $1.id }
  }

  /// Those that wait for a slot of the name and object, oldest first, and came before this connection.
  func waiting(for name: Pattern, _ object: ExactText?, before connection: ConnectionID)
    -> [ActionRegistration]
  {
    if line.isEmpty { return [] }
    let found = line.values.filter { $0.isMet(by: name, object) }.sorted { $0.id < $1.id }
    return Array(found.prefix { $0.connection != connection })
  }

  /// The claim of the connection on exactly this name and object.
  func claim(of connection: ConnectionID, on name: Pattern, _ object: ExactText?) -> ActionRegistration? {
    line.values.filter {
      $0.stage == .claiming && $0.connection == connection && $0.name == name && $0.object == object
    }.min { $0.lastDelegate < $1.lastDelegate }
  }

  /// Inserts an action. The holds that came too late for this action must be among `holds`.
  mutating func insert(_ action: ActionRegistration, beside holds: [HoldRegistration]) {
    if action.isUnderWay { all[action.id.rawValue] = action } else { line[action.id.rawValue] = action }
    for hold in holds where action.isTooLate(hold) { count(hold) }
  }

  mutating func add(late hold: HoldRegistration) {
    for action in all.values where action.isTooLate(hold) { count(hold) }
    for claim in line.values where claim.isTooLate(hold) { count(hold) }
  }

  private mutating func count(_ hold: HoldRegistration) {
    late[hold.identity.id.rawValue] = hold
    hold.lateCount += 1
  }

  mutating func forget(late hold: HoldRegistration) { late[hold.identity.id.rawValue] = nil }

  /// - Returns: the holds that were too late for this action, but for none of the remaining ones.
  mutating func remove(_ action: ActionRegistration) -> [HoldRegistration] {
    if action.isUnderWay { all[action.id.rawValue] = nil } else { line[action.id.rawValue] = nil }
    var settled: [HoldRegistration] = []
    for hold in late.values where action.isTooLate(hold) {
      hold.lateCount -= 1
      if hold.lateCount == 0 { settled.append(hold) }
    }
    for hold in settled { forget(late: hold) }
    return settled.sorted { $0.identity.id < $1.identity.id }
  }
}
