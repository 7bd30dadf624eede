// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// Logs and restores the configuration, because a replay uses the configuration that was in force.
///
/// Limits on quantities are omitted, because a replay does not refuse accepted frames. Some values that a
/// registration takes from the configuration (`LoggedContext`) are stored with its frame, which can outlive
/// that configuration.
extension Bus {
  package mutating func appendConfiguration(to buffer: ByteBuffer) {
    buffer.append(limits.deadline)
    policy.append(to: buffer)
    declarations.appendRules(to: buffer)
  }

  /// If it throws, the bus is unchanged.
  package mutating func restoreConfiguration(_ fields: RawSpan) throws(WireError) {
    var reader = FieldReader(fields)
    let deadline: UInt32 = try reader.integer()
    let policy = try BusPolicy(from: &reader)
    try declarations.restoreRules(from: &reader)
    limits.deadline = deadline
    self.policy = policy
  }
}
