// SPDX-License-Identifier: Apache-2.0
//
// Made by "make wire" from docs/tribune.wire. Change that instead.

/// Whom a policy decides about.
package struct AccessSubject: Equatable, Sendable {
  /// The user.
  package var uid: UInt32
  /// If more than 128: those that the policy named when the connection was made.
  package var groups: [UInt32]
  /// Of the system's service manager; empty if the kernel vouches for none.
  package var unit: String

  package init(uid: UInt32, groups: [UInt32], unit: String) {
    self.uid = uid
    self.groups = groups
    self.unit = unit
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      uid: reader.integer(), groups: reader.integers(max: WireLimits.groups, "groups"), unit: reader.text())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(uid)
    buffer.appendFields(groups)
    buffer.appendField(unit)
  }
}

/// What a `list` of the subject `access` asks: may somebody do something with the frame's name and object?
package struct AccessQuestion: Equatable, Sendable {
  /// The name of an action, as in tribune-policy(5).
  package var action: String
  /// Absent for the list's connection, or for the sender if the list names none.
  package var subject: AccessSubject?

  package init(action: String, subject: AccessSubject? = nil) {
    self.action = action
    self.subject = subject
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(action: reader.text(), subject: reader.flag() ? AccessSubject(from: &reader) : nil)
  }

  package func append(to buffer: ByteBuffer) {
    buffer.appendField(action)
    buffer.append(subject != nil)
    subject?.append(to: buffer)
  }
}

/// A line of a policy, and where it is.
package struct AccessLine: Equatable, Sendable {
  /// Empty without one.
  package var file: String
  /// In the file, from 1; 0 without one.
  package var number: UInt32
  /// Without its comment.
  package var text: String

  package init(file: String = "", number: UInt32 = 0, text: String = "") {
    self.file = file
    self.number = number
    self.text = text
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(file: reader.text(), number: reader.integer(), text: reader.text())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.appendField(file)
    buffer.append(number)
    buffer.appendField(text)
  }
}

/// How a policy decides.
package enum AccessDecision: UInt8, Sendable, CaseIterable {
  case allowed = 0
  case denied = 1
  /// No line allows it.
  case notAllowed = 2
  /// The subject may do everything: it runs the bus, or is root on a bus without a policy.
  case exempt = 3
}

/// How the policy decides, for the subject *access*.
package struct AccessEntry: Equatable, Sendable {
  /// NotAllowed if no line allows it; exempt if the subject runs the bus, or is root on a bus without a policy.
  package var decision: AccessDecision
  /// The deciding one, if any.
  package var line: AccessLine
  /// Whom the decision concerns.
  package var subject: AccessSubject

  package init(decision: AccessDecision, line: AccessLine, subject: AccessSubject) {
    self.decision = decision
    self.line = line
    self.subject = subject
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      decision: reader.value(), line: AccessLine(from: &reader), subject: AccessSubject(from: &reader))
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(decision.rawValue)
    line.append(to: buffer)
    subject.append(to: buffer)
  }
}

/// A line that would allow what is refused if one thing were different, for the subject *access*.
package struct NearMissEntry: Equatable, Sendable {
  package var line: AccessLine
  /// For people, such as `needs group:operators`.
  package var lacks: String

  package init(line: AccessLine, lacks: String) {
    self.line = line
    self.lacks = lacks
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(line: AccessLine(from: &reader), lacks: reader.text())
  }

  package func append(to buffer: ByteBuffer) {
    line.append(to: buffer)
    buffer.appendField(lacks)
  }
}
