// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// The address of a listening stream socket that another process opened.
package enum ListeningPlace: Equatable, Sendable, CustomStringConvertible {
  case unix(path: String)
  case loopback(port: UInt16)
  case network(port: UInt16)

  package init?(of descriptor: CInt) {
    guard Self.option(SO_ACCEPTCONN, of: descriptor) == 1,
      Self.option(SO_TYPE, of: descriptor) == CInt(SOCK_STREAM.rawValue)
    else { return nil }
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let status = unsafe withUnsafeMutablePointer(to: &storage) { storage in
      unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe getsockname(descriptor, $0, &length)
      }
    }
    guard status == 0 else { return nil }
    let bytes = unsafe withUnsafeBytes(of: &storage) { unsafe Array($0.prefix(Int(length))) }
    switch CInt(storage.ss_family) {
    case AF_UNIX: self = .unix(path: Self.path(bytes.dropFirst(2)))
    case AF_INET where bytes.count >= 8: self.init(port: bytes[2...3], isLoopback: bytes[4] == 127)
    case AF_INET6 where bytes.count >= 24:
      let address = bytes[8..<24]
      let isMapped = address.prefix(12).elementsEqual([UInt8](repeating: 0, count: 10) + [0xFF, 0xFF])
      let isLoopback = address.elementsEqual([UInt8](repeating: 0, count: 15) + [1])
      self.init(port: bytes[2...3], isLoopback: isLoopback || isMapped && bytes[20] == 127)
    default: return nil
    }
  }

  private init(port: ArraySlice<UInt8>, isLoopback: Bool) {
    let port = port.reduce(0) { $0 << 8 | UInt16($1) }
    self = isLoopback ? .loopback(port: port) : .network(port: port)
  }

  /// Returns the path, or an abstract name with `@` instead of its first byte, which is zero.
  private static func path(_ bytes: ArraySlice<UInt8>) -> String {
    guard bytes.first == 0 else { return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
    return "@" + String(decoding: bytes.dropFirst(), as: UTF8.self)
  }

  private static func option(_ option: CInt, of descriptor: CInt) -> CInt? {
    var value: CInt = 0
    var length = socklen_t(MemoryLayout<CInt>.size)
    return unsafe getsockopt(descriptor, SOL_SOCKET, option, &value, &length) == 0 ? value : nil
  }

  package var description: String {
    switch self {
    case .unix(let path): path
    case .loopback(let port): "port \(port) of this host alone"
    case .network(let port): "port \(port) of the network"
    }
  }
}
