// SPDX-License-Identifier: Apache-2.0

import CSystemd
import TribuneSystem
package import TribuneWire

extension PeerUnits {
  /// True if systemd is the system's service manager.
  package static var exist: Bool { sd_booted() > 0 }

  /// Finds the units of a process. Both are empty if the process has ended, or is outside this pid namespace.
  package init(of pid: Int32) {
    self.init()
    // The kernel reports pid 0 for a process outside this namespace. libsystemd would take 0 as the caller.
    guard pid > 0 else { return }
    unsafe self.init(
      system: Self.text { unsafe sd_pid_get_unit(pid, $0) } ?? "",
      user: Self.text { unsafe sd_pid_get_user_unit(pid, $0) } ?? "")
  }

  private static func text(_ call: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> CInt) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard unsafe call(&text) >= 0, let text = unsafe text else { return nil }
    return unsafe String(freeing: text)
  }
}
