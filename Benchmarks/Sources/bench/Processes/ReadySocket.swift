// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The service manager's end of sd_notify(3), at which a daemon reports that it is ready.
final class ReadySocket {
  let path: String
  private let descriptor: CInt

  init(path: String) throws {
    self.path = path
    descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw SpawnedProgram.Failure(description: "the path is too long for a socket: \(path)")
    }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    // After that time, the daemon counts as failed.
    var patience = timeval(tv_sec: 10, tv_usec: 0)
    let isBound = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    guard isBound,
      unsafe setsockopt(
        descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size)) == 0
    else { throw SpawnedProgram.Failure(description: "there can be no socket at \(path)") }
  }

  deinit { close(descriptor) }

  /// Waits until a daemon reports that it is ready.
  func waitUntilReady() throws {
    var bytes = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
      guard count >= 0 else {
        throw SpawnedProgram.Failure(description: "a daemon did not say for 10 s that it is ready")
      }
      if String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").contains("READY=1") {
        return
      }
    }
  }
}
