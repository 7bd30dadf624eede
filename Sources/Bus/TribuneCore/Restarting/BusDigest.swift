// SPDX-License-Identifier: Apache-2.0

import TribuneProtocols
import TribuneWire

/// Checksums of each connection, query and other part of the state that a replay must restore exactly.
///
/// A digest lacks the last ids, buffered notifications, posts that wait for an idle bus, and
/// `Connection.isDetached`. The server restores these separately. It counts buffered notifications that it
/// cannot restore as lost. A digest also lacks the turns of questions, which `finishRestoring` completes
/// after the replay. It lacks exempt bytes (`exemptLength`), because a replay lifts the log's limit, and can
/// then exempt more than the earlier bus.
package struct BusDigest {
  package enum Part: Comparable {
    case connection, query, action, awaitedPost, retained, account
  }

  private struct Key: Hashable {
    let part: Part
    let number: UInt64
    let serial: Serial
  }

  private var checksums: [Key: UInt64] = [:]
  /// True if a retained notification has a file. `differences` then does not compare retained notifications,
  /// because a replay drops a notification if the keeper lacks its file.
  fileprivate var hasRetainedFiles = false

  fileprivate mutating func add(_ part: Part, _ number: UInt64, serial: Serial = 0, _ checksum: Checksum) {
    checksums[Key(part: part, number: number, serial: serial)] = checksum.value
  }

  /// The parts that are not the same in both digests, such as "query 7".
  package func differences(from other: BusDigest) -> [String] {
    Set(checksums.keys).union(other.checksums.keys)
      .filter { checksums[$0] != other.checksums[$0] }
      .filter { $0.part != .retained || !hasRetainedFiles && !other.hasRetainedFiles }
      .sorted { ($0.part, $0.number, $0.serial) < ($1.part, $1.number, $1.serial) }
      .map { key in
        let what = key.serial == 0 ? "\(key.part) \(key.number)" : "\(key.part) \(key.number)/\(key.serial)"
        guard checksums[key] != nil else { return "no \(what)" }
        return other.checksums[key] == nil ? "a further \(what)" : what
      }
  }
}

private struct Checksum {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  mutating func add(_ number: UInt64) { value = (value ^ number) &* 0x100_0000_01B3 }
  mutating func add(_ number: Int) { add(UInt64(truncatingIfNeeded: number)) }
  mutating func add(_ flag: Bool) { add(flag ? 1 as UInt64 : 0) }

  mutating func add(_ text: String) {
    for byte in text.utf8 { add(UInt64(byte)) }
    add(text.utf8.count)
  }

  mutating func add(_ bytes: RawSpan) {
    for index in 0..<bytes.byteCount { add(UInt64(bytes.integer(at: index, as: UInt8.self))) }
    add(bytes.byteCount)
  }
}

extension Bus {
  package mutating func digest() -> BusDigest {
    var digest = BusDigest()
    for slot in connections.takenSlots {
      digest.add(.connection, connections[slot].id.rawValue, Self.checksum(of: connections[slot]))
    }
    forEachUnderWay { what, owner, fields in
      var checksum = Checksum()
      checksum.add(fields.bytes)
      switch what {
      case .query: digest.add(.query, fields.bytes.integer(at: 0, as: UInt64.self), checksum)
      case .action: digest.add(.action, fields.bytes.integer(at: 0, as: UInt64.self), checksum)
      case .awaitedPost:
        let serial = fields.bytes.integer(at: 8, as: Serial.self)
        digest.add(.awaitedPost, owner.rawValue, serial: serial, checksum)
      // `finishRestoring` completes the turns later.
      case .turns: break
      }
    }
    let buffer = ByteBuffer(capacity: 256)
    var order = Checksum()
    for notification in allRetained() {
      if notification.attachment != nil { digest.hasRetainedFiles = true }
      buffer.truncate(to: 0)
      notification.append(to: buffer)
      order.add(buffer.bytes)
    }
    digest.add(.retained, 0, order)
    for account in accounts.nonEmpty where account.charges.connectionCount > 0 {
      Self.add(account, to: &digest)
    }
    return digest
  }

  /// Adds each charge under its own number, by which `differences` names it.
  private static func add(_ account: UserAccount, to digest: inout BusDigest) {
    let charges = account.charges
    let counts = [
      charges.uses[.log], charges.uses[.registrations], charges.uses[.protocols], charges.connectionCount,
      charges.answerByteCount, charges.keepingCount,
    ]
    for (index, count) in counts.enumerated() {
      var checksum = Checksum()
      checksum.add(count)
      digest.add(.account, UInt64(account.uid), serial: Serial(index + 1), checksum)
    }
  }

  private static func checksum(of connection: Connection) -> Checksum {
    var checksum = Checksum()
    checksum.add(UInt64(connection.peer.uid))
    checksum.add(connection.buffered != nil)
    for (serial, observation) in inOrder(connection.observations.entries) {
      checksum.add(UInt64(serial))
      checksum.add(observation.pattern.text)
      checksum.add(observation.object ?? "")
      checksum.add(UInt64(observation.suspension.rawValue))
      checksum.add(observation.isAwaited)
    }
    for (serial, monitor) in inOrder(connection.monitors) {
      checksum.add(UInt64(serial))
      checksum.add(monitor.pattern?.text ?? "")
    }
    for (serial, delegate) in inOrder(connection.delegates) {
      checksum.add(UInt64(serial))
      add(delegate, to: &checksum)
    }
    for (serial, hold) in inOrder(connection.holds) {
      checksum.add(UInt64(serial))
      add(hold, to: &checksum)
    }
    for (serial, declaration) in inOrder(connection.declarations) {
      checksum.add(UInt64(serial))
      checksum.add(declaration.object)
      checksum.add(declaration.linked?.name ?? "")
      checksum.add(declaration.isDefinition)
      checksum.add(declaration.protocolCount)
    }
    for (serial, hold) in inOrder(connection.amendedHolds) {
      checksum.add(UInt64(serial))
      checksum.add(hold.identity.id.rawValue)
    }
    for (serial, length) in inOrder(connection.registeredLengths.entries) {
      checksum.add(UInt64(serial))
      checksum.add(length)
    }
    checksum.add(connection.tokenCount)
    checksum.add(connection.delegatePatterns.count)
    checksum.add(connection.delegatePatterns.tokenCount)
    checksum.add(connection.participantCount)
    checksum.add(connection.questionByteCount)
    checksum.add(connection.answerByteCount)
    checksum.add(connection.awaitedCount)
    checksum.add(connection.unacknowledgedPosts.count)
    checksum.add(connection.bound.count)
    return checksum
  }

  private static func add(_ delegate: DelegateRegistration, to checksum: inout Checksum) {
    checksum.add(delegate.identity.id.rawValue)
    checksum.add(delegate.identity.label)
    checksum.add(delegate.object)
    checksum.add(Int(delegate.order))
    checksum.add(UInt64(delegate.failurePolicy.rawValue))
    checksum.add(UInt64(delegate.timeout))
    for pattern in delegate.patterns { checksum.add(pattern.text) }
    for query in delegate.openQueries.sorted() { checksum.add(query.rawValue) }
  }

  private static func add(_ hold: HoldRegistration, to checksum: inout Checksum) {
    checksum.add(hold.identity.id.rawValue)
    checksum.add(hold.identity.label)
    checksum.add(hold.pattern.text)
    checksum.add(hold.object ?? "")
    checksum.add(hold.why)
    checksum.add(hold.taken.nanoseconds)
    checksum.add(hold.expiry?.nanoseconds ?? 0)
    checksum.add(hold.lateCount)
  }
}

private func inOrder<Value>(
  _ entries: some Sequence<(key: Serial, value: Value)>
) -> [(key: Serial, value: Value)] { entries.sorted { $0.key < $1.key } }
