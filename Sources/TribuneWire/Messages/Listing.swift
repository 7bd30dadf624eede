// SPDX-License-Identifier: Apache-2.0

/// The subjects of a `list`.
package enum ListSubject: UInt8, Sendable, CaseIterable {
  case bus = 0
  case connections = 1
  case observations = 2
  case delegates = 3
  /// The entries that a query with the frame's name and object would meet: holds, required delegates that are missing,
  /// and the delegates that it would be put to, in order.
  case chain = 4
  case holds = 5
  /// Objects that are declared or have delegates of their own.
  case objects = 6
  case protocols = 7
  /// The members of a protocol: that of the frame's object, or the protocol with this name.
  case members = 8
  /// Retained notifications.
  case retained = 9
  /// How the policy decides about an action with the frame's name, or pattern, and its object.
  case access = 10
  /// What ends if the policy in the frame's payload replaces the one in force (`PolicyFields`).
  case endings = 11
  /// Connections that have gone lately.
  case departed = 12
  /// What users have, and may have, of what they share.
  case accounts = 13
}

/// Requests an `entry` for each item of the subject, followed by an `ok`.
package struct List: FrameFields {
  package static let kind = FrameKind.list

  package var subject: ListSubject
  /// Only entries of this connection; 0 for all.
  package var connection: UInt64
  /// For the subject `access` alone.
  package var question: AccessQuestion?

  package init(_ subject: ListSubject, connection: UInt64 = 0) {
    self.subject = subject
    self.connection = connection
  }

  package init(_ question: AccessQuestion, connection: UInt64 = 0) {
    subject = .access
    self.connection = connection
    self.question = question
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    subject = try reader.value()
    connection = try reader.integer()
    question = subject == .access ? try AccessQuestion(from: &reader) : nil
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(subject.rawValue)
    buffer.append(connection)
    question?.append(to: buffer)
  }
}

/// One listed item. Its serial is that of the `list`.
package enum Entry: FrameFields {
  case bus(BusEntry)
  case connection(ConnectionEntry)
  case observation(ObservationEntry)
  case delegate(DelegateEntry)
  case hold(HoldEntry)
  case missing(MissingEntry)
  case object(ObjectEntry)
  case `protocol`(ProtocolEntry)
  case member(MemberEntry)
  case retained(RetainedEntry)
  case access(AccessEntry)
  case nearMiss(NearMissEntry)
  case ending(EndingEntry)
  case departed(DepartedEntry)
  case account(AccountEntry)

  package static let kind = FrameKind.entry

  private enum Tag: UInt8 {
    case bus, connection, observation, delegate, hold, missing, object, `protocol`, member, retained, access,
      nearMiss, ending, departed, account
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    switch try reader.value(Tag.self) {
    case .bus: self = .bus(try BusEntry(from: &reader))
    case .connection: self = .connection(try ConnectionEntry(from: &reader))
    case .observation: self = .observation(try ObservationEntry(from: &reader))
    case .delegate: self = .delegate(try DelegateEntry(from: &reader))
    case .hold: self = .hold(try HoldEntry(from: &reader))
    case .missing: self = .missing(try MissingEntry(from: &reader))
    case .object: self = .object(try ObjectEntry(from: &reader))
    case .protocol: self = .protocol(try ProtocolEntry(from: &reader))
    case .member: self = .member(try MemberEntry(from: &reader))
    case .retained: self = .retained(try RetainedEntry(from: &reader))
    case .access: self = .access(try AccessEntry(from: &reader))
    case .nearMiss: self = .nearMiss(try NearMissEntry(from: &reader))
    case .ending: self = .ending(try EndingEntry(from: &reader))
    case .departed: self = .departed(try DepartedEntry(from: &reader))
    case .account: self = .account(try AccountEntry(from: &reader))
    }
  }

  package func append(to buffer: ByteBuffer) {
    func write(_ tag: Tag, _ appendFields: (ByteBuffer) -> Void) {
      buffer.append(tag.rawValue)
      appendFields(buffer)
    }
    switch self {
    case .bus(let entry): write(.bus, entry.append)
    case .connection(let entry): write(.connection, entry.append)
    case .observation(let entry): write(.observation, entry.append)
    case .delegate(let entry): write(.delegate, entry.append)
    case .hold(let entry): write(.hold, entry.append)
    case .missing(let entry): write(.missing, entry.append)
    case .object(let entry): write(.object, entry.append)
    case .protocol(let entry): write(.protocol, entry.append)
    case .member(let entry): write(.member, entry.append)
    case .retained(let entry): write(.retained, entry.append)
    case .access(let entry): write(.access, entry.append)
    case .nearMiss(let entry): write(.nearMiss, entry.append)
    case .ending(let entry): write(.ending, entry.append)
    case .departed(let entry): write(.departed, entry.append)
    case .account(let entry): write(.account, entry.append)
    }
  }
}
