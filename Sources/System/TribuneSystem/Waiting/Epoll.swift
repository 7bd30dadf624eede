// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

package struct Readiness: OptionSet, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let readable = Readiness(rawValue: EPOLLIN.rawValue)
  package static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
  /// epoll always reports `hungUp` and `failed`, even if they are not asked for.
  package static let hungUp = Readiness(rawValue: EPOLLHUP.rawValue)
  package static let failed = Readiness(rawValue: EPOLLERR.rawValue)

  private static let ended = hungUp.rawValue | failed.rawValue

  package var isEnd: Bool { rawValue & Self.ended != 0 }

  /// True if the descriptor has data, or is at its end.
  package var isReadable: Bool { rawValue & (Self.readable.rawValue | Self.ended) != 0 }

  package var isWritable: Bool { rawValue & Self.writable.rawValue != 0 }
}

/// A level-triggered epoll(7) instance.
@safe package final class Epoll {
  private let descriptor: FileDescriptor
  private let events: UnsafeMutableBufferPointer<epoll_event>

  /// - Parameter capacity: the largest number of events that one wait returns.
  package init(capacity: Int) throws(Errno) {
    descriptor = FileDescriptor(owning: try retrying { epoll_create1(CInt(EPOLL_CLOEXEC)) })
    unsafe events = .allocate(capacity: capacity)
  }

  deinit { unsafe events.deallocate() }

  package func add(_ target: CInt, for interest: Readiness, token: UInt64) throws(Errno) {
    try control(EPOLL_CTL_ADD, target, interest, token)
  }

  package func modify(_ target: CInt, for interest: Readiness, token: UInt64) throws(Errno) {
    try control(EPOLL_CTL_MOD, target, interest, token)
  }

  package func remove(_ target: CInt) throws(Errno) { try control(EPOLL_CTL_DEL, target, [], 0) }

  package func unwatch(_ target: CInt) {
    do throws(Errno) {
      try remove(target)
    } catch {
      preconditionFailure("cannot stop watching descriptor \(target): \(error)")
    }
  }

  /// Waits for events, and returns their number. A negative `milliseconds` means no limit.
  package func wait(milliseconds: CInt) throws(Errno) -> Int {
    Int(
      try retrying {
        unsafe epoll_wait(descriptor.rawValue, events.baseAddress, CInt(events.count), milliseconds)
      })
  }

  package func event(at index: Int) -> (token: UInt64, readiness: Readiness) {
    let event = unsafe events[index]
    return unsafe (event.data.u64, Readiness(rawValue: event.events))
  }

  private func control(
    _ operation: CInt, _ target: CInt, _ interest: Readiness, _ token: UInt64
  ) throws(Errno) {
    var event = unsafe epoll_event(events: interest.rawValue, data: epoll_data_t(u64: token))
    _ = try retrying { unsafe epoll_ctl(descriptor.rawValue, operation, target, &event) }
  }
}
