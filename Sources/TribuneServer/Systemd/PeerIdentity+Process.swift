// SPDX-License-Identifier: Apache-2.0

import CSystemd
package import TribuneSystem
package import TribuneWire

nonisolated extension PeerIdentity {
  /// Adds what the kernel and systemd know about the process now. The process may have ended since it connected, or
  /// may be in another namespace: unknown parts are empty.
  package init(credentials: PeerCredentials) {
    self.init(
      pid: UInt32(clamping: credentials.pid), uid: credentials.uid, gid: credentials.gid,
      process: Self.processName(of: credentials.pid), unit: Self.unitName(of: credentials.pid))
  }

  private static func processName(of pid: Int32) -> String {
    guard pid > 0 else { return "" }
    do throws(Errno) {
      let name = try InputFile.contents(of: "/proc/\(pid)/comm", lengthMax: 64, waits: true) ?? []
      return String(decoding: name.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    } catch {
      return ""
    }
  }

  /// The user unit if there is one: the system unit is `user@UID.service` for all processes of a user manager.
  private static func unitName(of pid: Int32) -> String {
    // libsystemd takes 0 for the calling process.
    guard pid > 0 else { return "" }
    let userUnit = unsafe text { unsafe sd_pid_get_user_unit(pid, $0) }
    return unsafe userUnit ?? text { unsafe sd_pid_get_unit(pid, $0) } ?? ""
  }

  /// The text that a libsystemd call returns; nil if there is none.
  private static func text(_ call: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> CInt) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard unsafe call(&text) >= 0, let text = unsafe text else { return nil }
    return unsafe String(freeing: text)
  }

  /// `name[pid]`, with the unit, if there is one.
  var summary: String {
    let name = process.isEmpty ? "?" : process
    return unit.isEmpty ? "\(name)[\(pid)]" : "\(name)[\(pid)] in \(unit)"
  }
}
