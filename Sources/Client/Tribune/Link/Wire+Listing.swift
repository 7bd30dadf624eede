// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension BusStatus {
  init(_ entry: BusEntry) {
    self.init(
      pid: Int32(clamping: entry.pid), software: entry.software, address: entry.address,
      uptime: .microseconds(Int64(clamping: entry.uptime)), connections: Int(entry.connections),
      observations: Int(entry.observations), delegates: Int(entry.delegates), queries: Int(entry.queries),
      posted: Int(clamping: entry.posted), delivered: Int(clamping: entry.delivered),
      lost: Int(clamping: entry.lost), asked: Int(clamping: entry.asked), vetoed: Int(clamping: entry.vetoed),
      holds: Int(entry.holds), actions: Int(entry.actions), denied: Int(clamping: entry.denied),
      refused: Int(clamping: entry.refused),
      postedBytes: Int(clamping: entry.postedBytes), iterations: Int(clamping: entry.iterations),
      busy: .microseconds(Int64(clamping: entry.busy)),
      longestIteration: .microseconds(Int64(clamping: entry.longest)), logUsed: Int(clamping: entry.logUsed),
      logMax: Int(clamping: entry.logMax), kept: Int(entry.kept))
  }
}

extension AccessSubject {
  init(_ subject: PolicySubject) {
    self.init(uid: subject.uid, groups: subject.groups, unit: subject.unit ?? "")
  }
}

extension PolicyDecision {
  init(_ entry: AccessEntry) {
    let subject = entry.subject
    self.init(
      isAllowed: entry.decision == .allowed || entry.decision == .exempt,
      isExempt: entry.decision == .exempt, line: entry.line.number == 0 ? nil : Line(entry.line),
      subject: PolicySubject(
        uid: subject.uid, groups: subject.groups, unit: subject.unit.isEmpty ? nil : subject.unit))
  }
}

extension PolicyDecision.Line {
  init(_ line: AccessLine) { self.init(file: line.file, number: Int(line.number), text: line.text) }
}

extension ConnectionInfo {
  init(_ entry: ConnectionEntry) {
    self.init(
      id: entry.id.description, pid: Int32(clamping: entry.peer.pid), uid: entry.peer.uid,
      gid: entry.peer.gid, process: entry.peer.process, units: Units(entry.peer.units),
      age: .microseconds(Int64(clamping: entry.age)), observations: Int(entry.observations),
      delegates: Int(entry.delegates), queries: Int(entry.queries), queuedBytes: Int(clamping: entry.queued),
      lost: Int(clamping: entry.lost), posted: Int(clamping: entry.posted), isPaused: entry.isPaused,
      isLossy: entry.isLossy, isSuspended: entry.isSuspended, bufferedBytes: Int(clamping: entry.buffered),
      coalesced: Int(clamping: entry.coalesced), isSurviving: entry.isSurviving,
      postedBytes: Int(clamping: entry.postedBytes), delivered: Int(clamping: entry.delivered),
      denied: Int(clamping: entry.denied), refused: Int(clamping: entry.refused),
      asked: Int(clamping: entry.asked), pauses: Int(clamping: entry.pauses),
      pausedTime: .microseconds(Int64(clamping: entry.pausedTime)),
      lossyTime: .microseconds(Int64(clamping: entry.lossyTime)))
  }
}

extension DepartedConnectionInfo {
  init(_ entry: DepartedEntry) {
    let reason = entry.rawReason
    self.init(
      id: entry.id.description, pid: Int32(clamping: entry.peer.pid), uid: entry.peer.uid,
      gid: entry.peer.gid, process: entry.peer.process, units: Units(entry.peer.units),
      age: .microseconds(Int64(clamping: entry.age)), elapsed: .microseconds(Int64(clamping: entry.elapsed)),
      closedBecause: reason == 0 ? nil : ErrorCode(rawValue: reason).map { "\($0)" } ?? "error \(reason)",
      lost: Int(clamping: entry.lost), posted: Int(clamping: entry.posted))
  }
}

extension PastVerdict {
  init(_ entry: TribuneWire.PastVerdict) {
    let fields = entry.fields.map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false) }
    self.init(
      connection: entry.connection.description, number: entry.number,
      age: .microseconds(Int64(clamping: entry.age)),
      fields: Dictionary(grouping: fields.filter { $0.count == 2 }, by: { String($0[0]) })
        .mapValues { $0.map { String($0[1]) } })
  }
}

extension ObservationInfo {
  init(_ entry: ObservationEntry) {
    self.init(
      connection: entry.connection.description, pattern: entry.pattern, object: entry.object,
      suspension: SuspensionBehavior(entry.suspension), isAwaited: entry.isAwaited)
  }
}

extension RetainedInfo {
  init(_ entry: RetainedEntry) {
    self.init(
      name: entry.name, object: entry.object, connection: entry.connection.description, uid: entry.uid,
      byteCount: Int(entry.length), age: .microseconds(Int64(clamping: entry.age)))
  }
}

extension DelegateInfo {
  init(_ entry: DelegateEntry) {
    let peer = entry.delegate.peer
    self.init(
      id: entry.delegate.id.rawValue, connection: entry.connection.description, label: entry.delegate.label,
      pid: Int32(clamping: peer.pid), uid: peer.uid, process: peer.process, units: Units(peer.units),
      object: entry.object, order: entry.order, failurePolicy: FailurePolicy(entry.failurePolicy),
      timeout: .milliseconds(Int(entry.timeout)), patterns: entry.patterns)
  }
}

extension HoldInfo {
  init(_ entry: HoldEntry) {
    let peer = entry.delegate.peer
    self.init(
      id: entry.delegate.id.rawValue, connection: entry.connection.description, label: entry.delegate.label,
      pid: Int32(clamping: peer.pid), uid: peer.uid, process: peer.process, units: Units(peer.units),
      pattern: entry.pattern, object: entry.object, why: entry.why,
      age: .microseconds(Int64(clamping: entry.age)),
      expiresIn: entry.remaining == 0 ? nil : .microseconds(Int64(clamping: entry.remaining)))
  }
}

extension ObjectInfo {
  init(_ entry: ObjectEntry) {
    self.init(
      object: entry.object, protocolName: entry.protocolName.isEmpty ? nil : entry.protocolName,
      delegates: Int(entry.delegates),
      connection: entry.connection == .bus ? nil : entry.connection.description)
  }
}

extension ProtocolInfo {
  init(_ entry: ProtocolEntry) {
    self.init(
      name: entry.name, parents: entry.parents, members: Int(entry.members),
      connection: entry.connection == .bus ? nil : entry.connection.description,
      documentation: entry.documentation)
  }
}

extension MemberInfo {
  init(_ entry: MemberEntry) {
    self.init(
      origin: entry.origin, kind: Kind(entry.kind), isRequired: entry.isRequired, name: entry.name,
      parameters: entry.parameters, result: entry.result.isEmpty ? nil : entry.result,
      documentation: entry.documentation)
  }
}

extension MemberInfo.Kind {
  init(_ kind: MethodKind) {
    self =
      switch kind {
      case .should: .should
      case .will: .will
      case .did: .did
      case .value: .value
      }
  }
}
