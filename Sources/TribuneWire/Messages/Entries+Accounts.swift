// SPDX-License-Identifier: Apache-2.0

/// What a user has, and may have, of a resource that all users share.
package struct AccountEntry: Equatable, Sendable {
  package var uid: UInt32
  /// As how many users this one counts.
  package var weight: UInt32
  /// Whether the last sixteenth is for this user too, who may have all that is left.
  package var isPrivileged: Bool
  package var resource: String
  package var used: UInt64
  /// What the user may have at the moment.
  package var share: UInt64
  /// What all users may have together.
  package var total: UInt64

  package init(
    uid: UInt32, weight: UInt32, isPrivileged: Bool, resource: String, used: UInt64, share: UInt64,
    total: UInt64
  ) {
    self.uid = uid
    self.weight = weight
    self.isPrivileged = isPrivileged
    self.resource = resource
    self.used = used
    self.share = share
    self.total = total
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    uid = try reader.integer()
    weight = try reader.integer()
    isPrivileged = try reader.flag()
    resource = try reader.text()
    used = try reader.integer()
    share = try reader.integer()
    total = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(uid)
    buffer.append(weight)
    buffer.append(isPrivileged)
    buffer.appendField(resource)
    buffer.append(used)
    buffer.append(share)
    buffer.append(total)
  }
}
