// SPDX-License-Identifier: Apache-2.0
//
// Made by "make wire" from docs/tribune.wire. Change that instead.

/// Whom a policy decides about.
package struct AccessSubject: Equatable, Sendable {
  /// The user.
  package var uid: UInt32
  /// Of more than 128, only those that the policy named when the process connected.
  package var groups: [UInt32]
  /// Its unit in the system's service manager; empty unless the kernel guarantees one.
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

/// What a `list` of the subject *access* asks: may the subject do the action with the frame's name and object?
package struct AccessQuestion: Equatable, Sendable {
  /// The name of an action, as in tribune-policy(5).
  package var action: String
  /// If absent, the connection that the `list` names, or else the sender.
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
  /// Its path; empty without a file.
  package var file: String
  /// From 1; 0 without a file.
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
  /// NotAllowed: no line allows it; exempt: the subject runs the bus, or is root on a bus without a policy.
  package var decision: AccessDecision
  /// The deciding line; empty without one.
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

/// A policy line that would allow the action but for one unmet condition, for the subject *access*.
package struct NearMissEntry: Equatable, Sendable {
  package var line: AccessLine
  /// The unmet condition, for people: `needs group:operators`.
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
