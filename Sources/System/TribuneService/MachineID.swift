// SPDX-License-Identifier: Apache-2.0

import CSystemd

/// An id that distinguishes machines with the same name.
package enum MachineID {
  /// The id of the application Tribune. The machine id must stay private, so
  /// sd_id128_get_machine_app_specific(3) returns a hash of the machine id and this id.
  private static let application = sd_id128_t(
    bytes: (
      0x3C, 0x5E, 0x0B, 0x7A, 0x91, 0xD4, 0x4F, 0x26, 0xA8, 0x17, 0x62, 0xCF, 0xE0, 0x4B, 0x93, 0x5D
    ))

  /// The id as 32 hexadecimal digits; empty if this machine has no id.
  package static var current: String {
    var id = sd_id128_t()
    guard unsafe sd_id128_get_machine_app_specific(application, &id) >= 0 else { return "" }
    return unsafe withUnsafeBytes(of: &id) { bytes in
      unsafe bytes.map { (byte: UInt8) in
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }.joined()
    }
  }
}
