// SPDX-License-Identifier: Apache-2.0

/// How a delegate that times out or fails counts.
package enum FailurePolicy: UInt8, Sendable, CaseIterable {
  case veto = 0
  case abstain = 1
}

/// The systemd units of a process.
///
/// Two facts, as in systemd's journal: the service manager of the system vouches for the first one; the second one has
/// whatever name its user has chosen.
package struct PeerUnits: Equatable, Sendable {
  /// The unit of the system's service manager; empty if none. For a process of a user's service manager, it is that
  /// manager's, `user@UID.service`.
  package let system: String
  /// The unit of a user's service manager; empty if none.
  package let user: String

  package init(system: String = "", user: String = "") { (self.system, self.user) = (system, user) }

  /// Parses the text that frames have.
  package init(text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    self.init(system: String(parts[0]), user: parts.count == 2 ? String(parts[1]) : "")
  }

  /// The system's unit, or the user's if there is none; empty if there is neither.
  package var primary: String { system.isEmpty ? user : system }

  /// `SYSTEM`, or `SYSTEM/USER`. The name of a unit has no slash.
  package var text: String { user.isEmpty ? system : "\(system)/\(user)" }
}

/// The process at the other end of a connection, as the kernel and systemd know it.
package struct PeerIdentity: Equatable, Sendable {
  /// Shared by all copies: an identity is in every question and every outcome.
  private final class Storage: Sendable {
    let pid: UInt32
    let uid: UInt32
    let gid: UInt32
    let process: String
    let units: PeerUnits
    /// The identity as it is in frames.
    let encoded: [UInt8]

    init(_ pid: UInt32, _ uid: UInt32, _ gid: UInt32, _ process: String, _ units: PeerUnits) {
      (self.pid, self.uid, self.gid, self.process, self.units) = (pid, uid, gid, process, units)
      let buffer = ByteBuffer(capacity: 64)
      buffer.append(pid)
      buffer.append(uid)
      buffer.append(gid)
      buffer.appendField(process)
      buffer.appendField(units.text)
      encoded = [UInt8](buffer.bytes)
    }
  }

  private let storage: Storage

  /// In place of a peer that is not connected.
  package static let unknown = PeerIdentity(pid: 0, uid: 0, gid: 0, process: "", units: PeerUnits())

  package var pid: UInt32 { storage.pid }
  package var uid: UInt32 { storage.uid }
  package var gid: UInt32 { storage.gid }
  /// The process's name (comm), at most 15 bytes; empty if the process had gone before its name was read.
  package var process: String { storage.process }
  package var units: PeerUnits { storage.units }

  package init(pid: UInt32, uid: UInt32, gid: UInt32, process: String, units: PeerUnits) {
    storage = Storage(pid, uid, gid, process, units)
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    let pid: UInt32 = try reader.integer()
    let uid: UInt32 = try reader.integer()
    let gid: UInt32 = try reader.integer()
    let process = try reader.text()
    storage = Storage(pid, uid, gid, process, PeerUnits(text: try reader.text()))
  }

  package func append(to buffer: ByteBuffer) { buffer.append(storage.encoded) }

  package static func == (one: PeerIdentity, other: PeerIdentity) -> Bool {
    one.storage === other.storage || one.storage.encoded == other.storage.encoded
  }
}

/// Joins the delegate chain of the frame's object; without an object, the chain for any object.
package struct Attach: FrameFields {
  package static let kind = FrameKind.attach

  /// The place in the chain: lower comes first; equal values are ordered by the time of attaching.
  package var order: Int32
  package var failurePolicy: FailurePolicy
  /// Milliseconds without an answer until it times out; 0 selects the bus's default.
  package var timeout: UInt32
  package var label: String
  /// The names that the delegate responds to.
  package var patterns: [String]
  /// Whether it replaces the chain of the object instead of joining it.
  package var isSet: Bool
  /// Protocols that the delegate conforms to.
  package var protocols: [String]

  package init(
    order: Int32 = 0, failurePolicy: FailurePolicy = .veto, timeout: UInt32 = 0, label: String = "",
    patterns: [String], isSet: Bool = false, protocols: [String] = []
  ) {
    self.order = order
    self.failurePolicy = failurePolicy
    self.timeout = timeout
    self.label = label
    self.patterns = patterns
    self.isSet = isSet
    self.protocols = protocols
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    order = try reader.integer()
    failurePolicy = try reader.value()
    timeout = try reader.integer()
    label = try reader.text()
    patterns = try reader.texts(max: WireLimits.patternsPerDelegate, "patterns in one attach")
    isSet = try reader.flag()
    protocols = try reader.texts(max: WireLimits.protocolsPerDelegate, "protocols in one attach")
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(order)
    buffer.append(failurePolicy.rawValue)
    buffer.append(timeout)
    buffer.appendField(label)
    buffer.appendFields(patterns)
    buffer.append(isSet)
    buffer.appendFields(protocols)
  }
}

/// The identity of a delegate, as others see it.
package struct DelegateIdentity: Equatable, Sendable {
  package var id: DelegateID
  package var label: String
  package var peer: PeerIdentity

  package init(id: DelegateID, label: String, peer: PeerIdentity) {
    self.id = id
    self.label = label
    self.peer = peer
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    id = DelegateID(rawValue: try reader.integer())
    label = try reader.text()
    peer = try PeerIdentity(from: &reader)
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(id.rawValue)
    buffer.appendField(label)
    peer.append(to: buffer)
  }
}

/// A standing veto. The frame's name is a pattern and its object a filter; either may be left out, which means any.
/// The payload has the reason.
package struct Hold: FrameFields {
  package static let kind = FrameKind.hold

  /// The expiry in nanoseconds of the host's monotonic clock; 0 for none.
  package var expiry: UInt64
  package var label: String
  /// Whether the connection sends nothing after this frame. If the bus takes the hold, any further byte ends the
  /// connection.
  package var isLast: Bool

  package init(expiry: UInt64 = 0, label: String = "", isLast: Bool = false) {
    (self.expiry, self.label, self.isLast) = (expiry, label, isLast)
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    expiry = try reader.integer()
    // Version 0.1.0 writes none.
    label = reader.isAtEnd ? "" : try reader.text()
    // Versions before this one had no such field.
    isLast = reader.isAtEnd ? false : try reader.flag()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(expiry)
    buffer.appendField(label)
    buffer.append(isLast)
  }

  /// No other process has the next connection, and the client sends more over it.
  package var renewal: Hold { Hold(expiry: expiry, label: label) }
}

/// The bus has ended a registration. The serial is that of the frame that registered it.
package enum Ended: FrameFields {
  /// Another delegate was set in this one's place.
  case replaced(by: DelegateEntry)
  case expired
  /// The policy has changed, and does not allow it any more. The text says why, for people.
  case notPermitted(String)

  package static let kind = FrameKind.ended

  private enum Tag: UInt8 {
    case replaced, expired, notPermitted
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    switch try reader.value(Tag.self) {
    case .replaced: self = .replaced(by: try DelegateEntry(from: &reader))
    case .expired: self = .expired
    case .notPermitted: self = .notPermitted(try reader.text())
    }
  }

  package func append(to buffer: ByteBuffer) {
    switch self {
    case .replaced(let entry):
      buffer.append(Tag.replaced.rawValue)
      entry.append(to: buffer)
    case .expired:
      buffer.append(Tag.expired.rawValue)
    case .notPermitted(let why):
      buffer.append(Tag.notPermitted.rawValue)
      buffer.appendField(why)
    }
  }
}

/// Declares the protocol for the delegates of the frame's object. The payload defines protocols, or is empty. Without
/// an object, the frame only defines protocols.
package struct Declare: FrameFields {
  package static let kind = FrameKind.declare

  /// Empty if there is no object.
  package var protocolName: String

  package init(protocolName: String = "") { self.protocolName = protocolName }

  package init(from reader: inout FieldReader) throws(WireError) { protocolName = try reader.text() }

  package func append(to buffer: ByteBuffer) { buffer.appendField(protocolName) }
}
