// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The part of the configuration that affects a replay, as fields: a bus that replaces another replays under the
/// configuration in force at the time.
///
/// Limits on quantities are left out, since accepted frames are not refused. Values that a registration takes from the
/// configuration (`limits.delegateTimeout`, `appendContext`) are left out, too: they are stored with the registration's
/// frame, which is kept for longer than the configuration under which it came.
extension Bus {
  /// Appends the fields for `restoreConfiguration`.
  package mutating func appendConfiguration(to buffer: ByteBuffer) {
    buffer.append(limits.deadline)
    policy.append(to: buffer)
    declarations.appendRules(to: buffer)
  }

  /// Applies the fields, until `limits`, `policy`, and protocols and objects are configured anew.
  ///
  /// - Throws: an error if the fields are invalid; nothing has changed then.
  package mutating func restoreConfiguration(_ fields: RawSpan) throws(WireError) {
    var reader = FieldReader(fields)
    let deadline: UInt32 = try reader.integer()
    let policy = try BusPolicy(from: &reader)
    try declarations.restoreRules(from: &reader)
    limits.deadline = deadline
    self.policy = policy
  }
}
