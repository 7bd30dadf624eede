// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Dispatch
package import TribuneSystem

/// The owner of a descriptor that the event loop watches.
nonisolated package enum WatchToken: Equatable {
  case mainQueue
  /// The bus's keeper.
  case keeper
  case listener(Int)
  /// The alarm of the event loop's target.
  case alarm
  /// A connection's slot, and the low bits of its id, because the slot may be reused before an event of the same wait
  /// is handled.
  case connection(slot: Int, generation: UInt32)

  package init(rawValue: UInt64) {
    let low = UInt32(truncatingIfNeeded: rawValue)
    let high = Int(rawValue >> 32 & 0x3FFF_FFFF)
    self =
      switch rawValue >> 62 {
      case 0: low == 0 ? .mainQueue : .keeper
      case 1: .listener(high)
      case 3: .alarm
      default: .connection(slot: high, generation: low)
      }
  }

  package var rawValue: UInt64 {
    switch self {
    case .mainQueue: 0
    case .keeper: 1
    case .listener(let index): 1 << 62 | UInt64(index) << 32
    case .alarm: 3 << 62
    case .connection(let slot, let generation): 2 << 62 | UInt64(slot) << 32 | UInt64(generation)
    }
  }
}

/// The callbacks of the event loop.
package protocol EventLoopTarget: AnyObject {
  /// The loop woke up. Called first in each iteration.
  func beginIteration()
  func handleEvent(_ token: WatchToken, _ readiness: Readiness)
  /// Whether there is work although nothing is ready.
  var hasWork: Bool { get }
  /// Whether to call `becameIdle` when there is nothing else to do.
  var wantsIdle: Bool { get }
  /// Nothing was ready. `endIteration` follows.
  func becameIdle()
  /// Everything that was ready has been handled.
  ///
  /// - Returns: whether the loop continues.
  func endIteration() -> Bool
}

/// The main thread's event loop: one wait for the sockets, the target's alarm and the Dispatch main queue.
///
/// libdispatch signals through an eventfd that its main queue has work, and performs that work on request: the
/// interface by which CFRunLoop hosts the queue. So signals, timers and tasks of the main actor run here, between two
/// iterations over the sockets, and a message costs one `epoll_wait` and no thread switch.
package final class EventLoop {
  private static let eventsPerWait = 8192

  private let epoll: Epoll
  private let mainQueueHandle: CInt

  /// - Parameter hostsMainQueue: false if the process's main thread serves that queue already.
  package init(hostsMainQueue: Bool = true) throws(Errno) {
    epoll = try Epoll(capacity: Self.eventsPerWait)
    mainQueueHandle = hostsMainQueue ? _dispatch_get_main_queue_handle_4CF() : -1
    guard hostsMainQueue else { return }
    try epoll.add(mainQueueHandle, for: .readable, token: WatchToken.mainQueue.rawValue)
  }

  package func add(_ descriptor: CInt, for interest: Readiness, token: WatchToken) throws(Errno) {
    try epoll.add(descriptor, for: interest, token: token.rawValue)
  }

  package func modify(_ descriptor: CInt, for interest: Readiness, token: WatchToken) throws(Errno) {
    try epoll.modify(descriptor, for: interest, token: token.rawValue)
  }

  /// Stops watching a descriptor, which must be watched and open.
  package func unwatch(_ descriptor: CInt) { epoll.unwatch(descriptor) }

  /// Runs until the target's `endIteration` returns false.
  package func run<Target: EventLoopTarget>(for target: Target) throws(Errno) {
    while try iterate(for: target) {}
  }

  /// Waits once, and lets the target handle everything that is ready.
  ///
  /// - Returns: whether the loop continues.
  package func iterate<Target: EventLoopTarget>(for target: Target) throws(Errno) -> Bool {
    let count = try epoll.wait(milliseconds: target.wantsIdle || target.hasWork ? 0 : -1)
    target.beginIteration()
    if count == 0, target.wantsIdle { target.becameIdle() }
    var mainQueueIsReady = false
    for index in 0..<count {
      let event = epoll.event(at: index)
      let token = WatchToken(rawValue: event.token)
      if token == .mainQueue {
        mainQueueIsReady = true
      } else {
        target.handleEvent(token, event.readiness)
      }
    }
    if mainQueueIsReady { drainMainQueue() }
    return target.endIteration()
  }

  /// The handle is read before the queue is drained. If it were not read, it would wake the loop forever; if it were
  /// read afterwards, the read could swallow the signal for work that arrived meanwhile.
  private func drainMainQueue() {
    Wakeup.clear(mainQueueHandle)
    _dispatch_main_queue_callback_4CF(nil)
  }
}
