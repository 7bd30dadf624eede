// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
import TribuneSystem
import TribuneWire

/// The listening sockets that systemd passed to the daemon, as sd_listen_fds(3) has it.
nonisolated package enum ActivatedSockets {
  /// One passed descriptor, which whoever took it owns and closes.
  package struct Socket: Equatable, Sendable {
    package let descriptor: CInt
    /// The unit's `FileDescriptorName=`.
    package let name: String

    package init(descriptor: CInt, name: String) {
      self.descriptor = descriptor
      self.name = name
    }
  }

  /// What was passed is nothing that the daemon can serve on.
  package struct PassedError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String
  }

  /// Takes what was passed, close-on-exec. The environment does not speak of it afterwards: it can be
  /// taken once, and must be while there is one thread.
  ///
  /// - Returns: nothing when nothing was passed.
  /// - Throws: `PassedError` naming each descriptor that is no listening Unix stream socket.
  package static func take() throws(PassedError) -> [Socket] {
    var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    let count = unsafe sd_listen_fds_with_names(1, &names)
    guard count >= 0 else {
      throw PassedError(
        description: "cannot take the descriptors that were passed: \(Errno(rawValue: -count))")
    }
    var sockets: [Socket] = []
    for index in 0..<Int(count) {
      guard let name = unsafe names?[index] else { break }
      let descriptor = SD_LISTEN_FDS_START + CInt(index)
      sockets.append(Socket(descriptor: descriptor, name: unsafe String(cString: name)))
      unsafe free(name)
    }
    unsafe free(names)
    try check(sockets)
    return sockets
  }

  /// - Throws: `PassedError` naming each that is no listening Unix stream socket.
  package static func check(_ sockets: [Socket]) throws(PassedError) {
    let wrong = sockets.filter { socket in
      sd_is_socket_unix(socket.descriptor, CInt(SOCK_STREAM.rawValue), 1, nil, 0) <= 0
    }
    guard wrong.isEmpty else {
      let list = wrong.map { "\($0.descriptor) (\"\($0.name.escaped)\")" }.joined(separator: ", ")
      throw PassedError(
        description: "what was passed as descriptor \(list) is no listening Unix stream socket")
    }
  }
}
