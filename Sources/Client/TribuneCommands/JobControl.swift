// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem
import TribuneWire

/// Stops this process after Ctrl-Z. Before the stop, this type suspends the connection's notifications on the
/// bus, because a stopped process does not read, and would delay posters. After `fg`, this type resumes the
/// notifications.
actor JobControl {
  static let signals = [Signals.terminalStop, Signals.resume]

  /// If the bus has not confirmed the suspension within this time, the process stops anyway.
  private static let suspendTimeout = Duration.seconds(2)

  private let connection: Connection
  private let context: Context
  private let (changes, change) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

  private var isToStop = false
  private var wasStopped = false
  private var isSuspended = false

  init(of connection: Connection, in context: Context) {
    self.connection = connection
    self.context = context
  }

  /// Returns at the first signal that is not in `JobControl.signals`. Must be called at most once.
  func interruption() async {
    let following = Task { await self.follow() }
    defer { following.cancel() }
    for await signal in context.signals.signals {
      switch signal.number {
      case Signals.terminalStop: isToStop = true
      case Signals.resume: (isToStop, wasStopped) = (false, false)
      default: return
      }
      change.yield()
    }
  }

  /// If SIGCONT arrives before the bus has confirmed the suspension for SIGTSTP, the process does not stop.
  private func follow() async {
    for await _ in changes {
      while isToStop ? !wasStopped : isSuspended {
        if isToStop, isSuspended {
          wasStopped = true
          ThisProcess.stop()
        } else {
          isSuspended = isToStop
          await tell(isSuspended)
        }
      }
    }
  }

  private func tell(_ isSuspended: Bool) async {
    do throws(TribuneError) {
      try await bounded(by: Self.suspendTimeout) { [connection, context] () async throws(TribuneError) in
        if isSuspended { return try await connection.suspend() }
        let coalesced = try await connection.own().coalesced
        try await connection.resume()
        guard coalesced > 0 else { return }
        context.terminal.report(
          "\(coalesced.counted("notification")) coalesced: later ones of the same name and object replaced them"
        )
      }
    } catch {
      // If the connection has ended, the reader of its notifications reports that.
      guard error.code == .unreachable else { return }
      context.terminal.report(
        "the bus did not confirm that it has \(isSuspended ? "suspended" : "resumed") this observer: "
          + error.message.terminalSafe)
    }
  }
}
