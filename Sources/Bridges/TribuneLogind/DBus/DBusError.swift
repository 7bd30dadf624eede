// SPDX-License-Identifier: Apache-2.0

import CSystemdBus
import TribuneSystem
import TribuneWire

/// Why a call over D-Bus failed.
nonisolated enum DBusError: Error, Equatable, CustomStringConvertible {
  /// The other side answered with an error.
  case answered(name: String, message: String)
  /// The call could not be made, or there was no answer.
  case failed(Errno)
  /// The answer is not as documented.
  case unexpected(String)

  var description: String {
    switch self {
    case .answered(let name, let message): message.isEmpty ? name : message.escaped
    case .failed(let error): "\(error)"
    case .unexpected(let what): "an unexpected answer to \(what)"
    }
  }

  /// The error of a message; nil if it has none.
  static func of(_ message: OpaquePointer) -> DBusError? {
    guard let error = unsafe sd_bus_message_get_error(message) else { return nil }
    return unsafe .answered(
      name: error.pointee.name.map { unsafe String(cString: $0) } ?? "",
      message: error.pointee.message.map { unsafe String(cString: $0) } ?? "")
  }

  /// What a function of libsystemd returned, unless it is a negative error number.
  @discardableResult
  static func check(_ result: CInt) throws(Errno) -> CInt {
    guard result >= 0 else { throw Errno(rawValue: -result) }
    return result
  }
}
