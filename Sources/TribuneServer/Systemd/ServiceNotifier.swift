// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Dispatch
import Glibc
import TribuneSystem
import TribuneWire

/// Tells the service manager how the daemon is doing, as sd_notify(3) has it.
///
/// Without a `NOTIFY_SOCKET` nothing is sent. One that leads nowhere is logged once, and again only
/// after it has worked in between: a bus that serves is worth more than a manager that listens.
///
/// Nothing here waits for the manager. sd_notify does, while the socket is full, which it is when a manager that reads
/// nothing for a while is sent many descriptors (`DescriptorSender`). What finds no room is tried again a little later,
/// from the event loop, so that a watchdog is told of one that turns and of no other; what is overtaken meanwhile is
/// forgotten. Whoever hands over has no event loop any more: that it is stopping is then tried once, and its end says it.
package final class ServiceNotifier {
  private enum Kind {
    case ready, reloading, stopping, status, watchdog
  }

  /// How long what found no room waits until it is tried again.
  private static let retryMilliseconds = 100

  private let log: Log
  private var socket: ServiceSocket?
  private var isFailing = false
  /// What the manager is still to be told, in order: of no kind more than one.
  private var waiting: [(kind: Kind, text: String)] = []
  private var isToRetry = false

  package init(log: Log) { self.log = log }

  /// The daemon listens; or, after `reloading()`, it goes by the new configuration.
  package func ready(status: String) { send(.ready, "READY=1", "STATUS=\(status.escaped)") }

  /// The line that `systemctl status` shows.
  package func status(_ status: String) { send(.status, "STATUS=\(status.escaped)") }

  /// The event loop turns.
  package func watchdog() { send(.watchdog, "WATCHDOG=1") }

  /// `ready(status:)` must follow.
  package func reloading() {
    var now = timespec()
    guard unsafe clock_gettime(CLOCK_MONOTONIC, &now) == 0 else {
      preconditionFailure("there is a monotonic clock")
    }
    let microseconds = now.tv_sec * 1_000_000 + now.tv_nsec / 1_000
    send(.reloading, "RELOADING=1", "MONOTONIC_USEC=\(microseconds)")
  }

  /// The daemon is ending.
  package func stopping(status: String) { send(.stopping, "STOPPING=1", "STATUS=\(status.escaped)") }

  /// Within how many nanoseconds of each other the manager wants its `watchdog()`; nil when it wants none.
  nonisolated package static var watchdogIntervalNanoseconds: UInt64? {
    var microseconds: UInt64 = 0
    guard unsafe sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
    let (nanoseconds, overflow) = microseconds.multipliedReportingOverflow(by: 1_000)
    return overflow ? .max : nanoseconds
  }

  // MARK: Sending

  private func send(_ kind: Kind, _ assignments: String...) {
    guard ServiceSocket.isNamed else { return }
    waiting.removeAll { Self.overtakes(kind, $0.kind) }
    waiting.append((kind, assignments.joined(separator: "\n")))
    sendWaiting()
  }

  /// Whether there is nothing in an earlier notification that counts any more.
  private static func overtakes(_ later: Kind, _ earlier: Kind) -> Bool {
    switch earlier {
    case .watchdog: later == .watchdog
    case .status: later != .watchdog
    case .ready: later == .ready || later == .reloading || later == .stopping
    // A manager that has asked for it waits for both, this and `ready`.
    case .reloading, .stopping: later == .reloading || later == .stopping
    }
  }

  private func sendWaiting() {
    while let next = waiting.first, isDone(next.text) { waiting.removeFirst() }
    guard !waiting.isEmpty, !isToRetry else { return }
    isToRetry = true
    DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(Self.retryMilliseconds)) { [weak self] in
      MainActor.assumeIsolated {
        self?.isToRetry = false
        self?.sendWaiting()
      }
    }
  }

  /// - Returns: whether it was sent, or never will be.
  private func isDone(_ text: String) -> Bool {
    do throws(Errno) {
      try send(text)
      isFailing = false
    } catch {
      if error == .again || error.isOutOfResources { return false }
      if !isFailing {
        isFailing = true
        log.warning("cannot notify the service manager at $NOTIFY_SOCKET: \(error)")
      }
    }
    return true
  }

  private func send(_ text: String) throws(Errno) {
    if socket == nil { socket = try ServiceSocket() }
    try socket?.send(text, waits: false)
  }
}
