// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
package import TribuneSystem
package import TribuneWire

nonisolated extension PeerIdentity {
  /// Adds what the kernel and systemd say about the process now. It may have ended since it connected,
  /// or lie in another namespace: what cannot be known is empty.
  package init(credentials: PeerCredentials) {
    self.init(
      pid: UInt32(clamping: credentials.pid), uid: credentials.uid, gid: credentials.gid,
      process: Self.processName(of: credentials.pid), unit: Self.unitName(of: credentials.pid))
  }

  /// Makes it the one of another process, if the kernel says that it is.
  package mutating func correct(by credentials: PeerCredentials) {
    guard
      (pid, uid, gid) != (UInt32(clamping: credentials.pid), credentials.uid, credentials.gid)
    else { return }
    self = PeerIdentity(credentials: credentials)
  }

  private static func processName(of pid: pid_t) -> String {
    guard pid > 0 else { return "" }
    do {
      let file = FileDescriptor(
        owning: try retrying { unsafe open("/proc/\(pid)/comm", O_RDONLY | O_CLOEXEC) })
      let descriptor = file.rawValue
      var name = [UInt8](repeating: 0, count: 64)
      let count = try retrying { unsafe read(descriptor, &name, name.count) }
      return String(decoding: name.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    } catch {
      return ""
    }
  }

  /// A user's own unit rather than the system's unit around it, which is `user@UID.service` for all.
  private static func unitName(of pid: pid_t) -> String {
    // To systemd, 0 is the process that asks.
    guard pid > 0 else { return "" }
    let userUnit = unsafe text { unsafe sd_pid_get_user_unit(pid, $0) }
    return unsafe userUnit ?? text { unsafe sd_pid_get_unit(pid, $0) } ?? ""
  }

  /// The text that a call of libsystemd hands out, nil when it has none.
  private static func text(
    _ call: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> CInt
  ) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard unsafe call(&text) >= 0, let text = unsafe text else { return nil }
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }

  /// `name[pid]`, with the unit if there is one.
  var summary: String {
    let name = process.isEmpty ? "?" : process
    return unit.isEmpty ? "\(name)[\(pid)]" : "\(name)[\(pid)] in \(unit)"
  }
}
