// SPDX-License-Identifier: Apache-2.0

import Glibc

package enum Poll {
  package static let outputEvent = CInt(POLLOUT)

  package struct Ready: Sendable {
    /// True if the socket has data, or its peer is gone.
    package let isReadable: Bool
    package let isWritable: Bool
    package let isWoken: Bool
  }

  /// Waits until the socket is ready, `wakeup` is signalled, or the time is over. Rounds `timeout` up to
  /// whole milliseconds.
  package static func wait(
    for socket: borrowing FileDescriptor, forWriting: Bool, wakeup: borrowing Wakeup, timeout: Duration? = nil
  ) throws(Errno) -> Ready {
    let none = CShort(0)
    var descriptors: (pollfd, pollfd) = (
      pollfd(
        fd: socket.rawValue, events: CShort(POLLIN) | (forWriting ? CShort(POLLOUT) : none), revents: none),
      pollfd(fd: wakeup.rawValue, events: CShort(POLLIN), revents: none)
    )
    unsafe try withUnsafeMutablePointer(to: &descriptors) { both throws(Errno) in
      try unsafe both.withMemoryRebound(to: pollfd.self, capacity: 2) { list throws(Errno) in
        try unsafe wait(for: list, 2, timeout)
      }
    }
    let ended = CShort(POLLHUP) | CShort(POLLERR) | CShort(POLLNVAL)
    return Ready(
      isReadable: descriptors.0.revents & (CShort(POLLIN) | ended) != 0,
      isWritable: descriptors.0.revents & CShort(POLLOUT) != 0,
      isWoken: descriptors.1.revents != 0)
  }

  /// Waits for data (if `forWriting`, for space), or until the peer is gone. Returns false after the timeout,
  /// and if a signal interrupts the wait.
  package static func wait(
    for socket: borrowing FileDescriptor, forWriting: Bool, timeout: Duration
  ) throws(Errno) -> Bool { try wait(for: socket.rawValue, forWriting: forWriting, timeout: timeout) }

  package static func wait(for wakeup: borrowing Wakeup, timeout: Duration) throws(Errno) -> Bool {
    try wait(for: wakeup.rawValue, forWriting: false, timeout: timeout)
  }

  static func wait(for descriptor: CInt, forWriting: Bool, timeout: Duration? = nil) throws(Errno) -> Bool {
    var watched = pollfd(fd: descriptor, events: CShort(forWriting ? POLLOUT : POLLIN), revents: 0)
    try unsafe wait(for: &watched, 1, timeout)
    return watched.revents != 0
  }

  /// Waits for data. Returns false if the other end is gone, even if unread data is left.
  static func waitForInput(of descriptor: CInt) throws(Errno) -> Bool {
    var watched = pollfd(fd: descriptor, events: CShort(POLLIN), revents: 0)
    while watched.revents == 0 { try unsafe wait(for: &watched, 1, nil) }
    return watched.revents == CShort(POLLIN)
  }

  private static func wait(
    for list: UnsafeMutablePointer<pollfd>, _ count: nfds_t, _ timeout: Duration?
  ) throws(Errno) {
    let result = unsafe poll(list, count, milliseconds(timeout))
    if result == -1, Errno.current != .interrupted { throw Errno.current }
  }

  private static func milliseconds(_ timeout: Duration?) -> CInt {
    guard let timeout else { return -1 }
    let (seconds, attoseconds) = timeout.components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let part = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    return CInt(clamping: min(seconds, 1_000_000) * 1000 + part)
  }
}
