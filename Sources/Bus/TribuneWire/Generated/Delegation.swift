// SPDX-License-Identifier: Apache-2.0
//
// Made by "make wire" from docs/tribune.wire. Change that instead.

/// What `timedOut`, `gone` and `failed` count as.
package enum FailurePolicy: UInt8, Sendable, CaseIterable {
  case veto = 0
  case abstain = 1
}

/// Joins a delegate chain.
package struct Attach: FrameFields {
  package static let kind = FrameKind.attach

  /// Place in the chain: lower first, then by time of attaching.
  package var order: Int32
  /// What `timedOut`, `gone` and `failed` count as.
  package var failurePolicy: FailurePolicy
  /// Milliseconds that the delegate may be silent; 0 for the bus's setting (5 s).
  package var timeout: UInt32
  /// For people, in verdicts and lists.
  package var label: String
  /// Name patterns that the delegate responds to; an empty list is `invalidPattern`.
  package var patterns: [String]
  /// Replaces the object's other delegates.
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
    try self.init(
      order: reader.integer(), failurePolicy: reader.value(), timeout: reader.integer(), label: reader.text(),
      patterns: reader.texts(max: WireLimits.patternsPerDelegate, "patterns in one attach"),
      isSet: reader.flag(),
      protocols: reader.texts(max: WireLimits.protocolsPerDelegate, "protocols in one attach"))
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

/// A standing veto.
package struct Hold: FrameFields {
  package static let kind = FrameKind.hold
  /// Where the field expiry is.
  static let expiryOffset = 0

  /// Nanoseconds on `CLOCK_MONOTONIC`, in the future and below 2^63 (`invalidValue`); 0 for none.
  package var expiry: UInt64
  /// The holder's name, for verdicts and lists.
  package var label: String
  /// This is the connection's last frame; its registrations stay.
  package var isLast: Bool
  /// The process to show as the holder; absent for the sender's.
  package var holder: PeerIdentity?

  package init(expiry: UInt64 = 0, label: String = "", isLast: Bool = false, holder: PeerIdentity? = nil) {
    self.expiry = expiry
    self.label = label
    self.isLast = isLast
    self.holder = holder
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      expiry: reader.integer(), label: reader.text(), isLast: reader.flag(),
      holder: reader.flag() ? PeerIdentity(from: &reader) : nil)
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(expiry)
    buffer.appendField(label)
    buffer.append(isLast)
    buffer.append(holder != nil)
    holder?.append(to: buffer)
  }
}

/// Changes the reason of a hold.
package struct Amend: FrameFields {
  package static let kind = FrameKind.amend

  /// Serial of a `hold` of this connection.
  package var target: UInt64

  package init(target: UInt64) {
    self.target = target
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    target = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(target)
  }
}

/// Declares an object's protocol; defines protocols.
package struct Declare: FrameFields {
  package static let kind = FrameKind.declare

  /// The object's protocol.
  package var protocolName: String

  package init(protocolName: String = "") {
    self.protocolName = protocolName
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    protocolName = try reader.text()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.appendField(protocolName)
  }
}
