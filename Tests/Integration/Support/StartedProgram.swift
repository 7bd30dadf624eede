// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TribuneSystem

/// A program that runs until it ends by itself, or its last user releases it.
protocol StartedProgram: AnyObject {
  var process: Process { get }
}

extension StartedProgram {
  var pid: Int32 { process.processIdentifier }

  func signal(_ number: CInt) { kill(pid, number) }

  /// Waits for the end: the exit status, or the signal that ended it, negated.
  func status() -> Int32 { process.statusAtEnd() }

  /// Sends a signal, and waits for the end.
  @discardableResult
  func end(_ signal: CInt) -> Int32 {
    self.signal(signal)
    return status()
  }

  /// For `deinit`.
  func killIfRunning() {
    if process.isRunning { end(SIGKILL) }
  }

  /// Stops it as a debugger would, and waits until none of its threads runs.
  func freeze() throws {
    signal(SIGSTOP)
    try waitUntilStopped()
  }

  /// Waits until none of its threads runs, because it has been stopped.
  func waitUntilStopped() throws {
    var information = unsafe siginfo_t()
    let options = CInt(WSTOPPED) | CInt(WNOWAIT)
    let id = id_t(pid)
    _ = try retrying { unsafe waitid(P_PID, id, &information, options) }
  }
}

extension Process {
  /// Runs it with no signal blocked. The thread of a test blocks them, and what it starts would inherit that.
  func runUnblocked() throws {
    var (none, own) = (sigset_t(), sigset_t())
    unsafe sigemptyset(&none)
    unsafe pthread_sigmask(SIG_SETMASK, &none, &own)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &own, nil) }
    try run()
  }

  /// Waits for the end: the exit status, or the signal that ended it, negated.
  func statusAtEnd() -> Int32 {
    waitUntilExit()
    return terminationReason == .exit ? terminationStatus : -terminationStatus
  }
}
