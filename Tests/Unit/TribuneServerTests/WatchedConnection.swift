// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import TribuneSystem

/// One end is passed on; the other shows whether it is still open.
final class WatchedConnection {
  /// The receiver owns it.
  let passed: CInt
  let cookie: UInt64
  private let peer: FileDescriptor

  init() throws {
    let pair = try UnixSocket.makePair()
    cookie = try UnixSocket.cookie(of: pair.one)
    passed = try pair.one.duplicate().release()
    peer = try pair.other.duplicate()
  }

  /// Waits: a process that another test just forked has all descriptors until it executes its program.
  var isClosed: Bool {
    get throws {
      var byte: UInt8 = 0
      let hasEnded = try Poll.wait(for: peer, forWriting: false, timeout: .seconds(60))
      return unsafe hasEnded && recv(peer.rawValue, &byte, 1, CInt(MSG_DONTWAIT)) <= 0
    }
  }

  func write() throws {
    let count = unsafe send(peer.rawValue, "x", 1, CInt(MSG_NOSIGNAL))
    guard count == 1 else { throw Errno.current }
  }
}
