// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// A replay runs under the configuration that was in force.
///
/// Limits on quantities are omitted, because accepted frames are not refused. Values that a registration
/// takes from the configuration (`LoggedContext`) are stored with its frame, which outlives that configuration.
extension Bus {
  package mutating func appendConfiguration(to buffer: ByteBuffer) {
    buffer.append(limits.deadline)
    policy.append(to: buffer)
    declarations.appendRules(to: buffer)
  }

  /// Changes nothing if it throws.
  package mutating func restoreConfiguration(_ fields: RawSpan) throws(WireError) {
    var reader = FieldReader(fields)
    let deadline: UInt32 = try reader.integer()
    let policy = try BusPolicy(from: &reader)
    try declarations.restoreRules(from: &reader)
    limits.deadline = deadline
    self.policy = policy
  }
}
