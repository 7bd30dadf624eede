// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

package enum InternetSocket {
  private static let backlog: CInt = 256

  /// Listens at `address`: `127.0.0.1:8080`, `[::1]:8080`, or only a port, which means a port of 127.0.0.1.
  /// Throws EINVAL for any other address, including a name.
  package static func listening(at address: String) throws(Errno) -> FileDescriptor {
    let colon = address.lastIndex(of: ":")
    var host: Substring = colon.map { address[..<$0] } ?? "127.0.0.1"
    let port = colon.map { address[address.index(after: $0)...] } ?? address[...]
    guard UInt16(port) != nil else { throw Errno(rawValue: EINVAL) }
    if host.first == "[", host.last == "]" { host = host.dropFirst().dropLast() }
    var hints = unsafe addrinfo()
    unsafe hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
    unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    guard !host.isEmpty, unsafe getaddrinfo(String(host), String(port), &hints, &found) == 0,
      let place = unsafe found
    else { throw Errno(rawValue: EINVAL) }
    defer { unsafe freeaddrinfo(place) }
    let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    let family = unsafe place.pointee.ai_family
    let descriptor = FileDescriptor(owning: try retrying { socket(family, type, 0) })
    var yes: CInt = 1
    _ = try retrying {
      unsafe setsockopt(
        descriptor.rawValue, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
    }
    _ = try retrying {
      unsafe bind(descriptor.rawValue, place.pointee.ai_addr, place.pointee.ai_addrlen)
    }
    _ = try retrying { listen(descriptor.rawValue, backlog) }
    return descriptor
  }
}
