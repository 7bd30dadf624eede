// SPDX-License-Identifier: Apache-2.0

import Glibc
import Tribune
import TribuneSystem

/// Stops this process and lets it go on, as Ctrl-Z and `fg` want it, and has the bus know: a connection that is not
/// read is suspended, so that what it observes waits as each observation says and delays nobody.
actor JobControl {
  static let signals = [SIGTSTP, SIGCONT]

  /// How long the bus may take to suspend the connection. The process stops all the same.
  private static let patience = Duration.seconds(2)

  private let connection: Connection
  private let context: Context
  private let (changes, change) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

  /// What the signals want.
  private var isToStop = false
  /// It has been stopped since it was last to go on.
  private var wasStopped = false
  private var isSuspended = false

  init(of connection: Connection, in context: Context) {
    self.connection = connection
    self.context = context
  }

  /// Takes the signals; returns at the first that is none of these. Nobody may wait a second time.
  func interruption() async {
    let following = Task { await self.follow() }
    defer { following.cancel() }
    for await signal in context.signals.signals {
      switch signal.number {
      case SIGTSTP: isToStop = true
      case SIGCONT: (isToStop, wasStopped) = (false, false)
      default: return
      }
      change.yield()
    }
  }

  /// Does what the signals want. What they want may change while the bus is waited for; a process that was told
  /// to go on by then is not stopped.
  private func follow() async {
    for await _ in changes {
      while isToStop ? !wasStopped : isSuspended {
        if isToStop, isSuspended {
          wasStopped = true
          kill(getpid(), SIGSTOP)
        } else {
          isSuspended = isToStop
          await tell(isSuspended)
        }
      }
    }
  }

  private func tell(_ isSuspended: Bool) async {
    do throws(TribuneError) {
      try await bounded(by: Self.patience) { [connection] () async throws(TribuneError) in
        if isSuspended { try await connection.suspend() } else { try await connection.resume() }
      }
    } catch {
      // A connection that has ended is told where it is read.
      guard error.code == .unreachable else { return }
      let what = isSuspended ? "suspended" : "resumed"
      context.terminal.report("nobody knows whether the bus has \(what) this: \(error.message.terminalSafe)")
    }
  }
}
