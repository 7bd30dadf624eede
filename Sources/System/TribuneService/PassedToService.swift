// SPDX-License-Identifier: Apache-2.0

import CSystemd
package import TribuneSystem

/// The descriptors that systemd has passed to this process (sd_listen_fds(3)).
package enum PassedToService {
  /// Takes them, sets close-on-exec, and clears the environment variables. May be called only once, and only while there
  /// is one thread. The caller owns them.
  package static func take() throws(Errno) -> [(descriptor: CInt, name: String)] {
    // One name for each descriptor.
    var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    let count = unsafe sd_listen_fds_with_names(1, &names)
    guard count >= 0 else { throw Errno(rawValue: -count) }
    return unsafe (names.map { unsafe [String](freeing: $0) } ?? []).enumerated().map { index, name in
      (descriptor: SD_LISTEN_FDS_START + CInt(index), name: name)
    }
  }
}
