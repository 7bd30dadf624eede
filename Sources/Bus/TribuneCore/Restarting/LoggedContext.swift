// SPDX-License-Identifier: Apache-2.0

import TribuneProtocols
package import TribuneWire

/// Facts that the bus used to handle a frame, and that are neither in this frame nor in earlier frames of the
/// log (`Acceptance.context`).
enum LoggedContext {
  /// The values that the `attach` took from the configuration and the policy.
  case attach(timeout: UInt32, replaced: Set<DelegateID>)
  /// The expiry of a hold that the configuration or the policy shortened, in nanoseconds.
  case hold(expiry: UInt64)
  /// The protocols on which the `declare` relies. At a replay, these protocols can be gone or different.
  case declare([DelegateProtocol], length: Int)
  /// Why the bus dropped the answer's text or value. A replay uses this reason instead of a new check.
  case answer(truncation: String)

  init?(_ fields: RawSpan, of kind: FrameKind?) throws(WireError) {
    var reader = FieldReader(fields)
    switch kind {
    case .attach:
      let timeout: UInt32 = try reader.integer()
      var replaced: Set<DelegateID> = []
      for _ in 0..<(try reader.integer(UInt32.self)) {
        replaced.insert(DelegateID(rawValue: try reader.integer()))
      }
      self = .attach(timeout: timeout, replaced: replaced)
    case .hold where fields.byteCount > 0: self = .hold(expiry: try reader.integer())
    case .declare:
      self = .declare(try ProtocolLibrary<Definer>.link(from: &reader), length: fields.byteCount)
    case .answer where fields.byteCount > 0: self = .answer(truncation: String(repairing: fields))
    default: return nil
    }
  }

  var delegateTimeout: UInt32? { if case .attach(let timeout, _) = self { timeout } else { nil } }

  var holdExpiry: Instant? { if case .hold(let expiry) = self { Instant(nanoseconds: expiry) } else { nil } }

  /// The number of delegates that the `attach` replaced. At a replay, the log can lack some of these.
  var replacedCount: Int? { if case .attach(_, let replaced) = self { replaced.count } else { nil } }

  static func ofAttach(timeout: UInt32, replacing replaced: [DelegateRegistration]) -> ByteBuffer {
    let buffer = ByteBuffer(capacity: 0)
    buffer.append(timeout)
    buffer.append(UInt32(replaced.count))
    for delegate in replaced { buffer.append(delegate.identity.id.rawValue) }
    return buffer
  }

  static func ofHold(expiry: Instant) -> ByteBuffer {
    let buffer = ByteBuffer(capacity: 0)
    buffer.append(expiry.nanoseconds)
    return buffer
  }

  static func ofAnswer(truncatedBecause reason: String) -> ByteBuffer {
    ByteBuffer(holding: reason.utf8Bytes)
  }

  /// Encodes the context of a declaration, without protocols that the declaration's own frame defines.
  static func of(_ declaration: DeclarationRegistration, in library: ProtocolLibrary<Definer>) -> ByteBuffer {
    let own = declaration.isDefinition ? library.protocols(of: declaration.definer) : []
    var used = own.flatMap(\.ancestors)
    if let linked = declaration.linked { used += linked.ancestors + [linked] }
    var names = Set(own.map(\.name))
    let buffer = ByteBuffer(capacity: 0)
    for linked in used where names.insert(linked.name).inserted {
      buffer.appendBytesField(linked.text.utf8Bytes)
    }
    return buffer
  }
}

extension Bus {
  /// Begins a replay. Call this before all other methods. Lifts the limits, because each frame was within the
  /// limits when the earlier bus received it.
  package mutating func beginReplay() {
    restoring.isReplaying = true
    limits = limits.lifted
  }

  /// Handles an accepted frame of the log as the earlier bus did.
  ///
  /// - Parameter context: the `Acceptance.context` that the earlier bus logged with the frame.
  package mutating func replay(
    _ frame: FrameView, with context: RawSpan, in slice: ByteSlice, from slot: ConnectionSlot,
    at now: Instant
  ) throws(WireError) -> Receipt {
    try take(frame, in: slice, from: slot, try LoggedContext(context, of: frame.header.kind), at: now)
  }

  /// Ends a replay. Drops the statistics of the replayed frames, because the earlier bus has already counted
  /// these frames. The caller must then set the limits, which `beginReplay` has lifted.
  package mutating func endReplay() {
    restoring.isReplaying = false
    beginCounting()
  }
}

extension ProtocolLibrary {
  static func link(from reader: inout FieldReader) throws(WireError) -> [DelegateProtocol] {
    var sources: [ProtocolSource] = []
    while !reader.isAtEnd { sources.append(ProtocolSource(file: "log", text: try reader.byteArray())) }
    return link(sources)
  }
}
