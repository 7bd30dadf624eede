// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
package import TribuneWire

extension Bus {
  private static let nearMissesMax = 10

  /// - Parameter connection: if `question` names no subject, the decision is about this connection's subject.
  ///   0 means the connection at `slot`.
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
    let request = try Request(
      about: action, pattern, object: object.isEmpty && !isAboutMessages ? nil : object)
    func entry(_ decision: AccessDecision, _ line: AccessLine = AccessLine()) -> Entry {
      let fields = AccessSubject(
        uid: subject.user, groups: subject.groups.members, unit: subject.unit.knownName ?? "")
      return .access(AccessEntry(decision: decision, line: line, subject: fields))
    }
    guard let policy = access.policy(for: subject) else { return [entry(.exempt)] }
    // Do not cache the decision: clients can ask about any number of subjects, so the cache would grow.
    let (decision, decided) = policy.wholeDecision(on: request, by: subject)
    switch decision {
    case .allowed(let line): return [entry(.allowed, policy.lines[line].fields)]
    case .denied(let line): return [entry(.denied, policy.lines[line].fields)]
    case .notAllowed:
      let misses = policy.nearMisses(to: decided, by: subject, count: Self.nearMissesMax)
      return [entry(.notAllowed)]
        + misses.map { .nearMiss(NearMissEntry(line: policy.lines[$0.index].fields, lacks: $0.lacks)) }
    }
  }

  private func subject(
    of question: AccessQuestion, _ connection: UInt64, for slot: ConnectionSlot
  ) throws(WireError) -> Subject {
    if let asked = question.subject {
      return Subject(
        user: asked.uid, groups: Groups(asked.groups),
        unit: Subject.Unit(asked.unit.isEmpty ? nil : asked.unit))
    }
    guard connection != 0 else { return connections[slot].subject }
    guard let other = connections[ConnectionID(rawValue: connection)],
      visibleUsers(for: slot).contains(connections[other].peer.uid)
    else { throw WireError(.notFound, "there is no connection :\(connection)") }
    return connections[other].subject
  }
}

extension PolicyLine {
  fileprivate var fields: AccessLine {
    AccessLine(file: origin.file, number: UInt32(clamping: origin.number), text: text)
  }
}
