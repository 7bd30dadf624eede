// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Dispatch
import TribuneSystem
import TribuneWire

/// Sends notifications to the service manager. Unlike sd_notify(3), the notifier never blocks on a full
/// socket, but tries again later on the main queue. A later notification can replace a waiting one. The
/// notifier warns of a failure once, and again only after a success.
@MainActor package final class ServiceNotifier {
  private enum Kind {
    case ready, reloading, stopping, status, watchdog
  }

  private static let retryMilliseconds = 100

  /// The notifier of a program that runs beside a bus, such as a bridge.
  package static let service = ServiceNotifier { ServiceLog.warning($0) }

  private let warn: (String) -> Void
  private var socket: ServiceSocket?
  private var isFailing = false
  /// The notifications that wait to be sent, at most one of each kind.
  private var waiting: [(kind: Kind, text: String)] = []
  private var isToRetry = false
  private var watchdogTimer: (any DispatchSourceTimer)?

  package init(warn: @escaping (String) -> Void) { self.warn = warn }

  /// Tells the service manager that the service is ready, or that its reload has ended.
  package func ready(status: String? = nil) { enqueue(.ready, "READY=1", status) }

  package func status(_ status: String) { enqueue(.status, nil, status) }

  package func watchdog() { enqueue(.watchdog, "WATCHDOG=1") }

  /// If the service has a watchdog (`WatchdogSec=`), calls `watchdog()` regularly while the main queue runs.
  package func startWatchdog() {
    guard let longest = Self.watchdogIntervalNanoseconds else { return }
    let interval = DispatchTimeInterval.nanoseconds(Int(clamping: longest / 2))
    let timer = DispatchSource.makeTimerSource(queue: .main)
    timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(10))
    timer.setEventHandler { [weak self] in MainActor.assumeIsolated { self?.watchdog() } }
    timer.activate()
    watchdogTimer = timer
  }

  /// Tells the service manager that a reload begins. When the reload ends, `ready(status:)` must be called.
  package func reloading() {
    enqueue(.reloading, "RELOADING=1\nMONOTONIC_USEC=\(SystemClock.monotonicNanoseconds / 1_000)")
  }

  package func stopping(status: String? = nil) { enqueue(.stopping, "STOPPING=1", status) }

  /// The longest interval between calls of `watchdog()`. Nil if the service manager expects no such calls.
  nonisolated package static var watchdogIntervalNanoseconds: UInt64? {
    var microseconds: UInt64 = 0
    guard unsafe sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
    let (nanoseconds, overflow) = microseconds.multipliedReportingOverflow(by: 1_000)
    return overflow ? .max : nanoseconds
  }

  // MARK: Sending

  private func enqueue(_ kind: Kind, _ text: String?, _ status: String? = nil) {
    guard ServiceSocket.isNamed else { return }
    waiting.removeAll { $0.kind == .status ? status != nil : Self.overtakes(kind, $0.kind) }
    let lines = [text, status.map { "STATUS=\($0.escaped)" }].compactMap(\.self)
    waiting.append((kind, lines.joined(separator: "\n")))
    sendWaiting()
  }

  private static func overtakes(_ later: Kind, _ earlier: Kind) -> Bool {
    switch earlier {
    case .watchdog: later == .watchdog
    case .status: later == .status
    case .ready: later == .ready || later == .reloading || later == .stopping
    // READY must not replace RELOADING: if the service manager requested the reload, it waits for both.
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

  /// - Returns: true if the text was sent, or can never be sent.
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
