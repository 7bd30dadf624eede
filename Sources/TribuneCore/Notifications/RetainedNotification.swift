// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The last notification of its name and object that was posted to be retained.
package struct RetainedNotification {
  /// Name, object and userInfo, in a buffer of its own.
  let tail: QueryTail
  package let sender: ConnectionID
  /// The user whose account is charged.
  let uid: UInt32
  package let posted: Instant
  /// Ascending, so that a snapshot is in the order of posting.
  var number: UInt64 = 0

  /// Bytes charged to its user's account, with overhead.
  var cost: Int { Self.cost(of: tail) }

  /// Bytes charged for each besides its own, and for each token of its name, which may need a node in the tree.
  private static var overhead: Int { 256 }

  static func cost(of tail: QueryTail) -> Int {
    tail.slice.weight + overhead * (1 + tail.nameTokenCount)
  }

  func entry(at now: Instant) -> RetainedEntry {
    let bytes = tail.slice.bytes
    return RetainedEntry(
      connection: sender, uid: uid, name: String(repairing: bytes.extracting(first: tail.nameLength)),
      object: String(
        repairing: bytes.extracting(tail.nameLength..<tail.nameLength + tail.objectLength)),
      length: UInt32(clamping: tail.slice.weight - tail.nameLength - tail.objectLength),
      age: now.nanoseconds(since: posted) / 1000)
  }
}

extension QueryTail {
  fileprivate var nameTokenCount: Int {
    let bytes = slice.bytes
    var count = 1
    for offset in 0..<nameLength where bytes.integer(at: offset, as: UInt8.self) == UInt8(ascii: ".") {
      count += 1
    }
    return count
  }
}
