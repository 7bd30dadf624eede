// SPDX-License-Identifier: Apache-2.0

import CSystemd
package import TribuneSystem

package enum PassedToService {
  /// Takes the descriptors that systemd passed to this process (sd_listen_fds(3)). Must be called once, while
  /// the process has one thread. The caller owns the descriptors.
  package static func take() throws(Errno) -> [(descriptor: CInt, name: String)] {
    var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    let count = unsafe sd_listen_fds_with_names(1, &names)
    guard count >= 0 else { throw Errno(rawValue: -count) }
    return unsafe (names.map { unsafe [String](freeing: $0) } ?? []).enumerated().map { index, name in
      (descriptor: SD_LISTEN_FDS_START + CInt(index), name: name)
    }
  }
}
