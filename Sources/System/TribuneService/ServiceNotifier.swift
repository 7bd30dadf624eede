// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Dispatch
import TribuneSystem
import TribuneWire

/// Reports the process's status to the service manager (sd_notify(3)).
///
/// Without `NOTIFY_SOCKET`, nothing is sent. A failure is logged once, and again only after a success in between: the
/// process keeps serving even if the manager cannot be reached.
///
/// Nothing here blocks. sd_notify(3) would block while the socket is full, because the manager has not read for a
/// while. A notification that does not fit is sent again a little later from the main queue, or with the next one; so only
/// a running loop notifies the watchdog. Superseded notifications are dropped. During a handover there is no event loop:
/// the daemon tries once to report that it is stopping, and its exit tells the rest.
@MainActor package final class ServiceNotifier {
  private enum Kind {
    case ready, reloading, stopping, status, watchdog
  }

  /// The delay before a notification that did not fit is sent again.
  private static let retryMilliseconds = 100

  /// Of the process beside a bus.
  package static let service = ServiceNotifier { ServiceLog.warning($0) }

  private let warn: (String) -> Void
  private var socket: ServiceSocket?
  private var isFailing = false
  /// Notifications that are still to be sent, in order; at most one of each kind.
  private var waiting: [(kind: Kind, text: String)] = []
  private var isToRetry = false
  private var watchdogTimer: (any DispatchSourceTimer)?

  package init(warn: @escaping (String) -> Void) { self.warn = warn }

  /// The process serves; or, after `reloading()`, the new configuration is in force.
  package func ready(status: String? = nil) { send(.ready, "READY=1", status) }

  /// The line that `systemctl status` shows.
  package func status(_ status: String) { send(.status, nil, status) }

  /// The event loop runs.
  package func watchdog() { send(.watchdog, "WATCHDOG=1") }

  /// Calls `watchdog()` regularly from now on, if the manager expects it. The timer fires only in a running loop.
  package func startWatchdog() {
    guard let longest = Self.watchdogIntervalNanoseconds else { return }
    let interval = DispatchTimeInterval.nanoseconds(Int(clamping: longest / 2))
    let timer = DispatchSource.makeTimerSource(queue: .main)
    timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(10))
    timer.setEventHandler { [weak self] in MainActor.assumeIsolated { self?.watchdog() } }
    timer.activate()
    watchdogTimer = timer
  }

  /// The process is reloading. `ready(status:)` must follow.
  package func reloading() {
    send(.reloading, "RELOADING=1\nMONOTONIC_USEC=\(SystemClock.monotonicNanoseconds / 1_000)")
  }

  /// The process is ending.
  package func stopping(status: String? = nil) { send(.stopping, "STOPPING=1", status) }

  /// The longest interval in nanoseconds between two calls of `watchdog()`; nil if the manager expects none.
  nonisolated package static var watchdogIntervalNanoseconds: UInt64? {
    var microseconds: UInt64 = 0
    guard unsafe sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
    let (nanoseconds, overflow) = microseconds.multipliedReportingOverflow(by: 1_000)
    return overflow ? .max : nanoseconds
  }

  // MARK: Sending

  private func send(_ kind: Kind, _ text: String?, _ status: String? = nil) {
    guard ServiceSocket.isNamed else { return }
    waiting.removeAll { $0.kind == .status ? status != nil : Self.overtakes(kind, $0.kind) }
    let lines = [text, status.map { "STATUS=\($0.escaped)" }].compactMap(\.self)
    waiting.append((kind, lines.joined(separator: "\n")))
    sendWaiting()
  }

  /// Whether the later notification makes the earlier one obsolete.
  private static func overtakes(_ later: Kind, _ earlier: Kind) -> Bool {
    switch earlier {
    case .watchdog: later == .watchdog
    case .status: later == .status
    case .ready: later == .ready || later == .reloading || later == .stopping
    // A manager that has asked for the reload waits for both `reloading` and `ready`.
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

  /// - Returns: whether it was sent, or can never be sent.
  private func isDone(_ text: String) -> Bool {
    do throws(Errno) {
      if socket == nil { socket = try ServiceSocket() }
      try socket?.send(text, waits: false)
      isFailing = false
    } catch {
      if error == .again || error.isOutOfResources { return false }
      if !isFailing {
        isFailing = true
        warn("cannot notify the service manager at $NOTIFY_SOCKET: \(error)")
      }
    }
    return true
  }
}
