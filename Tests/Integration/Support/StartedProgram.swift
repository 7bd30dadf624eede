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

  /// The exit status, or the negated signal.
  func status() -> Int32 { process.statusAtEnd() }

  @discardableResult
  func end(_ signal: CInt) -> Int32 {
    self.signal(signal)
    return status()
  }

  func killIfRunning() {
    if process.isRunning { end(SIGKILL) }
  }

  func freeze() throws {
    signal(SIGSTOP)
    try waitUntilStopped()
  }

  func waitUntilStopped() throws {
    var information = unsafe siginfo_t()
    let options = CInt(WSTOPPED) | CInt(WNOWAIT)
    let id = id_t(pid)
    _ = try retrying { unsafe waitid(P_PID, id, &information, options) }
  }
}

extension Process {
  /// A test's thread blocks signals, which its children would inherit.
  func runUnblocked() throws {
    var (none, own) = (sigset_t(), sigset_t())
    unsafe sigemptyset(&none)
    unsafe pthread_sigmask(SIG_SETMASK, &none, &own)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &own, nil) }
    try run()
  }

  func statusAtEnd() -> Int32 {
    waitUntilExit()
    return terminationReason == .exit ? terminationStatus : -terminationStatus
  }
}
