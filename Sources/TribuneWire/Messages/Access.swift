// SPDX-License-Identifier: Apache-2.0

/// Whom a policy decides about.
package struct AccessSubject: Equatable, Sendable {
  package var uid: UInt32
  package var groups: [UInt32]
  /// The system's unit; empty if there is none that the kernel vouches for.
  package var unit: String

  package init(uid: UInt32, groups: [UInt32], unit: String) {
    (self.uid, self.groups, self.unit) = (uid, groups, unit)
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    uid = try reader.integer()
    let count = Int(try reader.integer(UInt32.self))
    guard count <= WireLimits.groups else {
      throw WireError(.limitExceeded, "\(count) groups exceed the limit of \(WireLimits.groups)")
    }
    groups = []
    for _ in 0..<count { groups.append(try reader.integer()) }
    unit = try reader.text()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(uid)
    buffer.append(UInt32(groups.count))
    for group in groups { buffer.append(group) }
    buffer.appendField(unit)
  }
}

/// What a `list` of the subject `access` asks: may somebody do something with the frame's name and object?
package struct AccessQuestion: Equatable, Sendable {
  package var action: String
  /// nil for the list's connection, or for the sender if the list names none.
  package var subject: AccessSubject?

  package init(action: String, subject: AccessSubject?) { (self.action, self.subject) = (action, subject) }

  package init(from reader: inout FieldReader) throws(WireError) {
    action = try reader.text()
    subject = try reader.flag() ? try AccessSubject(from: &reader) : nil
  }

  package func append(to buffer: ByteBuffer) {
    buffer.appendField(action)
    buffer.append(subject != nil)
    subject?.append(to: buffer)
  }
}

/// A line of a policy, and where it is.
package struct AccessLine: Equatable, Sendable {
  package var file: String
  /// Counted from 1; 0 if there is no line.
  package var number: UInt32
  package var text: String

  package init(file: String = "", number: UInt32 = 0, text: String = "") {
    (self.file, self.number, self.text) = (file, number, text)
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    file = try reader.text()
    number = try reader.integer()
    text = try reader.text()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.appendField(file)
    buffer.append(number)
    buffer.appendField(text)
  }
}

package enum AccessDecision: UInt8, Sendable {
  case allowed = 0
  case denied = 1
  /// No line allows it.
  case notAllowed = 2
  /// The subject may do everything: it runs the bus, or is root on a bus without a policy.
  case exempt = 3
}

/// How the policy decides.
package struct AccessEntry: Equatable, Sendable {
  package var decision: AccessDecision
  /// The line that decides, if one does.
  package var line: AccessLine
  package var subject: AccessSubject

  package init(decision: AccessDecision, line: AccessLine, subject: AccessSubject) {
    (self.decision, self.line, self.subject) = (decision, line, subject)
  }

  init(from reader: inout FieldReader) throws(WireError) {
    decision = try reader.value()
    line = try AccessLine(from: &reader)
    subject = try AccessSubject(from: &reader)
  }

  func append(to buffer: ByteBuffer) {
    buffer.append(decision.rawValue)
    line.append(to: buffer)
    subject.append(to: buffer)
  }
}

/// A line that would allow what is refused, if one thing were different.
package struct NearMissEntry: Equatable, Sendable {
  package var line: AccessLine
  /// For people: `needs group:operators`.
  package var lacks: String

  package init(line: AccessLine, lacks: String) { (self.line, self.lacks) = (line, lacks) }

  init(from reader: inout FieldReader) throws(WireError) {
    line = try AccessLine(from: &reader)
    lacks = try reader.text()
  }

  func append(to buffer: ByteBuffer) {
    line.append(to: buffer)
    buffer.appendField(lacks)
  }
}

/// A registration that another policy would end.
package struct EndingEntry: Equatable, Sendable {
  package var connection: ConnectionID
  package var peer: PeerIdentity
  /// What is not allowed, and why, for people.
  package var why: String

  package init(connection: ConnectionID, peer: PeerIdentity, why: String) {
    (self.connection, self.peer, self.why) = (connection, peer, why)
  }

  init(from reader: inout FieldReader) throws(WireError) {
    connection = ConnectionID(rawValue: try reader.integer())
    peer = try PeerIdentity(from: &reader)
    why = try reader.text()
  }

  func append(to buffer: ByteBuffer) {
    buffer.append(connection.rawValue)
    peer.append(to: buffer)
    buffer.appendField(why)
  }
}

/// A policy as the payload of a `list`, with ids in place of the names of users and groups.
package struct PolicyFields: Equatable, Sendable {
  /// nil for no policy at all.
  package var lines: [AccessLine]?

  package init(_ lines: [AccessLine]?) { self.lines = lines }

  package init(_ payload: RawSpan) throws(WireError) {
    var reader = FieldReader(payload)
    guard try reader.flag() else { return }
    var lines: [AccessLine] = []
    while !reader.isAtEnd { lines.append(try AccessLine(from: &reader)) }
    self.lines = lines
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(lines != nil)
    for line in lines ?? [] { line.append(to: buffer) }
  }
}
