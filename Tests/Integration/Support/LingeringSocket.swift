// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import TribuneSystem

/// A TCP socket whose last `close` blocks until a signal comes: it lingers, and its peer does not read.
final class LingeringSocket {
  private(set) var rawDescriptor: CInt
  private var peer: CInt

  init() throws {
    let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    let listener = FileDescriptor(owning: try retrying { Glibc.socket(AF_INET, type, 0) })
    let listening = listener.rawValue
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let socket = try retrying { Glibc.socket(AF_INET, type, 0) }
    (rawDescriptor, peer) = (socket, -1)
    peer = try unsafe withUnsafeMutablePointer(to: &address) { pointer throws(Errno) in
      try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer throws(Errno) in
        _ = try retrying { unsafe bind(listening, pointer, length) }
        _ = try retrying { listen(listening, 1) }
        _ = try retrying { unsafe getsockname(listening, pointer, &length) }
        _ = try retrying { unsafe connect(socket, pointer, length) }
        return try retrying { Glibc.accept(listening, nil, nil) }
      }
    }
    _ = try retrying { [peer] in fcntl(peer, F_SETFD, FD_CLOEXEC) }
    var option = Glibc.linger(l_onoff: 1, l_linger: 600)
    _ = try retrying {
      unsafe setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<Glibc.linger>.size))
    }
    let bytes = [UInt8](repeating: 1, count: 65_536)
    while unsafe send(socket, bytes, bytes.count, CInt(MSG_DONTWAIT)) > 0 {}
    guard errno == EAGAIN else { throw Errno.current }
  }

  func leave() {
    close(rawDescriptor)
    rawDescriptor = -1
  }

  func release() -> FileDescriptor {
    defer { rawDescriptor = -1 }
    return FileDescriptor(owning: rawDescriptor)
  }

  func end() {
    guard peer != -1 else { return }
    close(peer)
    peer = -1
  }

  deinit {
    end()
    if rawDescriptor != -1 { leave() }
  }
}
