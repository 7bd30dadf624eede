// SPDX-License-Identifier: Apache-2.0

import Glibc

package enum HostName {
  /// The name of this host. It is empty if it cannot be read.
  package static var current: String {
    // The name has up to 64 bytes (HOST_NAME_MAX), and a zero follows it.
    var name = [CChar](repeating: 0, count: 65)
    guard unsafe gethostname(&name, name.count - 1) == 0 else { return "" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

package enum BootID {
  /// The id of this boot. It is empty if it cannot be read.
  package static var current: String { InputFile.line(of: "/proc/sys/kernel/random/boot_id") }
}
