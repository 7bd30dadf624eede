// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// Logs and restores the configuration, because a replay must use the configuration of the earlier bus.
///
/// The log omits limits on quantities, because a replay does not refuse accepted frames. A registration can
/// outlive the configuration under which it was accepted. So its entry in the log also has some values from
/// that configuration (`LoggedContext`).
extension Bus {
  package mutating func appendConfiguration(to buffer: ByteBuffer) {
    buffer.append(limits.deadline)
    policy.append(to: buffer)
    declarations.appendRules(to: buffer)
  }

  /// If this method throws, the bus is unchanged.
  package mutating func restoreConfiguration(_ fields: RawSpan) throws(WireError) {
    var reader = FieldReader(fields)
    let deadline: UInt32 = try reader.integer()
    let policy = try BusPolicy(from: &reader)
    try declarations.restoreRules(from: &reader)
    limits.deadline = deadline
    self.policy = policy
  }
}
