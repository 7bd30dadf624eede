// SPDX-License-Identifier: Apache-2.0

package import TribunePolicy
import TribuneWire

/// The policy as it applies to one subject.
final class Permissions {
  /// An id is never reused, because a cached decision must not apply to another subject or policy.
  let id: UInt64
  let subject: Subject
  let policy: Policy
  /// The lines without the placeholder `%U`. Subjects with equal lines of this kind share this object.
  fileprivate let common: FoundLines
  private let own: FoundLines
  let deniesObserving: Bool
  var connectionCount = 0

  fileprivate init(
    id: UInt64, _ subject: Subject, _ policy: Policy, _ common: FoundLines, own: FoundLines
  ) {
    (self.id, self.subject, self.policy, self.common, self.own) = (id, subject, policy, common, own)
    deniesObserving = (common.lines + own.lines).contains {
      $0.effect == .deny && $0.actions.contains(.observe)
    }
  }

  /// Patterns of all names that the subject may list, or that its user may retain: a connection may list its
  /// own notifications. Ignores deny lines. nil if one of these patterns matches all names.
  private(set) lazy var listablePatterns: Set<Pattern>? = {
    let listing = (common.lines + own.lines).filter { $0.effect == .allow && $0.actions.contains(.list) }
    let patterns = Set(listing.flatMap(\.names) + policy.retainedPatterns(of: subject.user))
    return patterns.contains(.any) ? nil : patterns
  }()

  func actions(with key: RawSpan, nameLength: Int) -> ActionSet {
    actions(with: key.extracting(first: nameLength), key.extracting(droppingFirst: nameLength))
  }

  func actions(with name: RawSpan, _ object: RawSpan) -> ActionSet {
    var (allowed, denied) = (ActionSet(), ActionSet())
    forEachLine(matching: name, object) { line in
      if line.isDeny { denied.formUnion(line.actions) } else { allowed.formUnion(line.actions) }
    }
    return allowed.subtracting(denied)
  }

  func denyingLine(of action: Action, _ name: RawSpan, _ object: RawSpan) -> Int? {
    var first: Int?
    forEachLine(matching: name, object) { line in
      if line.isDeny, line.actions.contains(action) { first = min(first ?? .max, line.index) }
    }
    return first
  }

  func decision(on request: Request) -> Policy.Decision {
    let decision = common.decision(on: request)
    if case .denied = decision { return decision }
    let own = own.decision(on: request)
    if case .notAllowed = own { return decision }
    return own
  }

  func holdMax(for request: Request) -> TimeSpan? {
    [common.holdMax(for: request), own.holdMax(for: request)].compactMap(\.self).min()
  }

  /// True if the subject may list or ask a name that the pattern matches. Such a subject can learn of a
  /// registration with this pattern from a list or a verdict anyway.
  func mayFollow(_ pattern: Pattern, object: String?) -> Bool {
    decision(on: Request(.list, pattern, object: object)).isAllowed
      || decision(on: Request(partOf: pattern, .ask, object: object)).isAllowed
  }

  @inline(__always) private func forEachLine(
    matching name: RawSpan, _ object: RawSpan, _ body: (LineIndex.Entry) -> Void
  ) {
    common.index.forEach(matching: name, object, body)
    own.index.forEach(matching: name, object, body)
  }
}

private final class FoundLines {
  let lines: [BoundLine]
  let index: LineIndex
  private let allows: LineTree
  private let denies: LineTree

  init(_ lines: [BoundLine]) {
    self.lines = lines
    index = LineIndex(lines)
    allows = LineTree(lines, .allow)
    denies = LineTree(lines, .deny)
  }

  /// Decides like `Sequence<BoundLine>.decision(on:)`, but faster.
  func decision(on request: Request) -> Policy.Decision {
    if let place = first(of: denies, .deny, request) { return .denied(by: lines[place].index) }
    if let place = first(of: allows, .allow, request) { return .allowed(by: lines[place].index) }
    return .notAllowed
  }

  func holdMax(for request: Request) -> TimeSpan? {
    var least: TimeSpan?
    allows.forEach(about: request.pattern, overlapping: true) { place in
      guard let max = lines[place].holdMax, lines[place].overlaps(request) else { return }
      least = min(least ?? max, max)
    }
    return least
  }

  private func first(of tree: LineTree, _ effect: PolicyLine.Effect, _ request: Request) -> Int? {
    var first: Int?
    tree.forEach(about: request.pattern, overlapping: request.isDecidedByPart(effect)) { place in
      if place < first ?? .max, lines[place].decides(on: request) { first = place }
    }
    return first
  }
}

package enum AccessRules: Sendable {
  case everything
  case policy(Policy, exempt: Set<UInt32>)

  fileprivate var namedGroups: [UInt32] {
    if case .policy(let policy, _) = self { policy.namedGroups } else { [] }
  }
}

struct Access: ~Copyable {
  /// The permissions id of connections that may do everything. Such connections have no `Permissions`.
  static let everythingID: UInt64 = 0

  private var rules: AccessRules
  private(set) var namedGroups: [UInt32]
  private var ids: [UInt64] = []
  private var permissions: [Permissions?] = []
  private var bySubject: [Subject: Permissions] = [:]
  private var commonLines: [[Int]: FoundLines] = [:]
  private var lastID: UInt64 = 0
  private var tidyCount = 64
  /// True if a deny line keeps at least one subject from observing some names.
  private(set) var filtersObservers = false

  init(_ rules: AccessRules) { (self.rules, namedGroups) = (rules, rules.namedGroups) }

  @inline(__always) func id(at slot: ConnectionSlot) -> UInt64 { ids[slot.index] }

  /// Returns nil if the connection may do everything.
  func permissions(at slot: ConnectionSlot) -> Permissions? { permissions[slot.index] }

  func mayReceive(_ slot: ConnectionSlot, _ name: RawSpan, _ object: RawSpan) -> Bool {
    guard let permissions = permissions[slot.index], permissions.deniesObserving else { return true }
    return permissions.denyingLine(of: .observe, name, object) == nil
  }

  /// True if the policy would allow at least one process of the user to post and retain the notification.
  func mayRetain(_ name: String, _ object: String, user: UInt32) -> Bool {
    guard case .policy(let policy, let exempt) = rules, !exempt.contains(user) else { return true }
    let pattern = Pattern(accepted: name)
    return [Action.post, .retain].allSatisfy { action in
      policy.mayAllow(Request(action, pattern, object: object), user: user)
    }
  }

  // MARK: Connections

  mutating func insert(_ subject: Subject, at slot: ConnectionSlot) {
    while ids.count <= slot.index {
      ids.append(Self.everythingID)
      permissions.append(nil)
    }
    let found = permissionsOf(subject)
    found?.connectionCount += 1
    permissions[slot.index] = found
    ids[slot.index] = found?.id ?? Self.everythingID
  }

  mutating func remove(at slot: ConnectionSlot) {
    permissions[slot.index]?.connectionCount -= 1
    permissions[slot.index] = nil
    ids[slot.index] = Self.everythingID
  }

  mutating func change(to rules: AccessRules, subjects: [(ConnectionSlot, Subject)]) {
    (self.rules, namedGroups) = (rules, rules.namedGroups)
    bySubject = [:]
    commonLines = [:]
    filtersObservers = false
    for (slot, subject) in subjects {
      permissions[slot.index] = nil
      insert(subject, at: slot)
    }
  }

  /// Returns nil if the subject may do everything.
  func policy(for subject: Subject) -> Policy? {
    guard case .policy(let policy, let exempt) = rules, !exempt.contains(subject.user) else { return nil }
    return policy
  }

  /// Returns nil if the subject may do everything.
  mutating func permissionsOf(_ subject: Subject) -> Permissions? {
    guard let policy = policy(for: subject) else { return nil }
    if let known = bySubject[subject] { return known }
    tidy()
    let lines = policy.bound(to: subject)
    let shared = lines.filter { !policy.lines[$0.index].isTemplate }
    let key = shared.map(\.index)
    let common = commonLines[key] ?? FoundLines(shared)
    commonLines[key] = common
    lastID += 1
    let permissions = Permissions(
      id: lastID, subject, policy, common, own: FoundLines(lines.filter { policy.lines[$0.index].isTemplate })
    )
    bySubject[subject] = permissions
    if permissions.deniesObserving { filtersObservers = true }
    return permissions
  }

  private mutating func tidy() {
    guard bySubject.count >= tidyCount else { return }
    bySubject = bySubject.filter { $0.value.connectionCount > 0 }
    tidyCount = max(64, 2 * bySubject.count)
    let inUse = Set(bySubject.values.map { ObjectIdentifier($0.common) })
    commonLines = commonLines.filter { inUse.contains(ObjectIdentifier($0.value)) }
  }
}

extension Pattern {
  /// `text` must be a pattern that an earlier check has accepted.
  init(accepted text: String) {
    do throws(WireError) {
      try self.init(text)
    } catch {
      preconditionFailure("an accepted name is invalid: \(error.message)")
    }
  }
}
