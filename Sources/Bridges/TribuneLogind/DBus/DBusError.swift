// SPDX-License-Identifier: Apache-2.0

import CSystemdBus
import TribuneSystem
import TribuneWire

nonisolated enum DBusError: Error, Equatable, CustomStringConvertible {
  case answered(name: String, message: String)
  /// A local failure, such as a lost connection. For a timeout, sd-bus makes an error reply (`answered`).
  case failed(Errno)
  case unexpected(String)
  case notMasked(String)

  var description: String {
    switch self {
    case .answered(let name, let message): message.isEmpty ? name : message.escaped
    case .failed(let error): "\(error)"
    case .unexpected(let what): "an unexpected answer to \(what)"
    case .notMasked(let unit):
      "systemd has \(unit) in a folder that takes precedence (systemctl status \(unit))"
    }
  }

  static func of(_ message: OpaquePointer) -> DBusError? {
    guard let error = unsafe sd_bus_message_get_error(message) else { return nil }
    return unsafe .answered(
      name: error.pointee.name.map { unsafe String(cString: $0) } ?? "",
      message: error.pointee.message.map { unsafe String(cString: $0) } ?? "")
  }

  @discardableResult
  static func check(_ result: CInt) throws(Errno) -> CInt {
    guard result >= 0 else { throw Errno(rawValue: -result) }
    return result
  }
}
