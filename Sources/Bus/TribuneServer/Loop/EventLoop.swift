// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Dispatch
package import TribuneSystem

/// The owner of a descriptor that the event loop watches.
nonisolated package enum WatchToken: Equatable {
  case mainQueue
  case keeper
  case listener(Int)
  case alarm
  /// `slot` is an index in the session table. The bus can reuse a slot before it has handled all events of a
  /// wait. `generation`, the low bits of the connection's id, therefore tells the slot's connections apart.
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

package protocol EventLoopTarget: AnyObject {
  /// Called after the wait for events, before `handleEvent`.
  func beginIteration()
  func handleEvent(_ token: WatchToken, _ readiness: Readiness)
  /// True if work remains that no event announces. The loop must then not wait for events.
  var hasWork: Bool { get }
  var wantsIdle: Bool { get }
  /// Called before `endIteration`, if no event was ready and `wantsIdle` is true.
  func becameIdle()
  /// - Returns: false to end the loop.
  func endIteration() -> Bool
}

/// The main thread's event loop: one wait for sockets, the target's alarm and the Dispatch main queue.
///
/// libdispatch signals work in its main queue through an eventfd. The loop then calls libdispatch to do the
/// work, as CFRunLoop does. Handlers of signals and timers, and main-actor tasks, therefore run in this loop.
/// A client's message costs at most one `epoll_wait`, and no thread switch.
package final class EventLoop {
  private static let eventsPerWait = 8192

  private let epoll: Epoll
  private let mainQueueHandle: CInt

  /// - Parameter hostsMainQueue: false if another loop serves the main queue.
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

  /// The descriptor must be watched and open.
  package func unwatch(_ descriptor: CInt) { epoll.unwatch(descriptor) }

  package func run<Target: EventLoopTarget>(for target: Target) throws(Errno) {
    while try iterate(for: target) {}
  }

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

  /// Reads the handle, which is an eventfd, and then drains the queue. An unread eventfd would wake the loop
  /// forever. If the eventfd were read after the draining, the signal for new work could be lost.
  private func drainMainQueue() {
    Wakeup.clear(mainQueueHandle)
    _dispatch_main_queue_callback_4CF(nil)
  }
}
