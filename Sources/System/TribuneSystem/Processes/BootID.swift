// SPDX-License-Identifier: Apache-2.0

/// The id that the kernel has made for itself when it started (random(4)).
package enum BootID {
  /// Empty if it cannot be read.
  package static var current: String {
    do throws(Errno) {
      let text =
        try InputFile.contents(of: "/proc/sys/kernel/random/boot_id", lengthMax: 64, waits: false) ?? []
      return String(decoding: text.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    } catch {
      return ""
    }
  }
}
