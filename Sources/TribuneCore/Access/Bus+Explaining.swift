// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
package import TribuneWire

/// Why the policy allows or refuses something.
extension Bus {
  private static let nearMissesMax = 10

  /// The decision on the frame's name and object, and near misses if it is no.
  ///
  /// - Parameter connection: whose it is, if the question names no subject; 0 for the one that asks.
  /// - Throws: `invalidPattern`, `invalidObject`, `invalidValue`, `notFound`, `notPermitted`.
  package mutating func explainAccess(
    _ frame: FrameView, _ question: AccessQuestion, of connection: UInt64, for slot: ConnectionSlot
  ) throws(WireError) -> [Entry] {
    let pattern = try frame.pattern()
    try frame.object.requireObject()
    guard let action = Action(name: question.action) else {
      throw WireError(
        .invalidValue,
        "there is no action \"\(question.action.escaped)\"; there are \(Action.names.joined(separator: ", "))"
      )
    }
    let subject = try subject(of: question, connection, for: slot)
    let object = String(repairing: frame.object)
    let isAboutMessages = action.isAboutMessages && pattern.isLiteral
    let request = Request(action, pattern, object: object.isEmpty && !isAboutMessages ? nil : object)
    let fields = AccessSubject(
      uid: subject.user, groups: subject.groups.sorted(), unit: subject.unit.knownName ?? "")
    guard let policy = access.policy(for: subject) else {
      return [.access(AccessEntry(decision: .exempt, line: AccessLine(), subject: fields))]
    }
    func entry(_ decision: AccessDecision, _ line: Int?) -> Entry {
      .access(
        AccessEntry(
          decision: decision, line: line.map { policy.lines[$0].fields } ?? AccessLine(), subject: fields))
    }
    // Anybody may ask about anybody: nothing is remembered.
    switch policy.decision(on: request, by: subject) {
    case .allowed(let line): return [entry(.allowed, line)]
    case .denied(let line): return [entry(.denied, line)]
    case .notAllowed:
      let misses = policy.nearMisses(to: request, by: subject, count: Self.nearMissesMax)
      return [entry(.notAllowed, nil)]
        + misses.map { .nearMiss(NearMissEntry(line: policy.lines[$0.index].fields, lacks: $0.lacks)) }
    }
  }

  private func subject(
    of question: AccessQuestion, _ connection: UInt64, for slot: ConnectionSlot
  ) throws(WireError) -> Subject {
    if let asked = question.subject {
      return Subject(
        user: asked.uid, groups: Set(asked.groups), unit: Subject.Unit(asked.unit.isEmpty ? nil : asked.unit))
    }
    guard connection != 0 else { return connections[slot].subject }
    guard let other = connections[ConnectionID(rawValue: connection)],
      mayListConnections(of: connections[other].peer.uid, from: slot)
    else { throw WireError(.notFound, "there is no connection :\(connection)") }
    return connections[other].subject
  }
}

extension PolicyLine {
  fileprivate var fields: AccessLine {
    AccessLine(file: origin.file, number: UInt32(clamping: origin.number), text: text)
  }
}
