// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What of the configuration decides something when frames are received again, as fields: a bus that takes another's
/// place goes by what was in force then.
///
/// Left out are the limits, since what was accepted once is not refused; and what a frame that registers something needs,
/// which lies beside it (`limits.delegateTimeout`, `appendContext`): such a frame is kept for longer than the
/// configuration under which it came.
extension Bus {
  /// Appends the fields, as `restoreConfiguration` reads them.
  package mutating func appendConfiguration(to buffer: ByteBuffer) {
    buffer.append(limits.deadline)
    policy.append(to: buffer)
    declarations.appendRules(to: buffer)
  }

  /// Goes by them until `limits`, `policy`, and protocols and objects are configured anew.
  ///
  /// - Throws: what is wrong with them; nothing has changed then.
  package mutating func restoreConfiguration(_ fields: RawSpan) throws(WireError) {
    var reader = FieldReader(fields)
    let deadline: UInt32 = try reader.integer()
    let policy = try BusPolicy(from: &reader)
    try declarations.restoreRules(from: &reader)
    limits.deadline = deadline
    self.policy = policy
  }
}
