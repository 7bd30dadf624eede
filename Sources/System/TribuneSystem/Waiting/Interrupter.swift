// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// Interrupts system calls of its own thread by SIGURG, repeatedly, because the first signal may precede the
/// call. A process without a handler ignores SIGURG.
@safe
package struct Interrupter: ~Copyable {
  private static let signal = SIGURG

  /// SA_RESTART is missing, because it would continue the system call.
  private static let handler: Void = {
    var action = sigaction()
    unsafe action.__sigaction_handler.sa_handler = { _ in }
    let result = unsafe sigaction(signal, &action, nil)
    precondition(result == 0, "SIGURG has a handler")
  }()

  /// Nil if the system refuses a timer.
  private let timer: timer_t?

  package init() {
    _ = Self.handler
    SignalMask([Self.signal]).unblock()
    var event = unsafe sigevent()
    unsafe event.sigev_signo = Self.signal
    unsafe event.sigev_notify = CInt(SIGEV_THREAD_ID)
    unsafe event._sigev_un._tid = gettid()
    var timer: timer_t?
    let result = unsafe timer_create(CLOCK_MONOTONIC, &event, &timer)
    unsafe self.timer = result == 0 ? timer : nil
  }

  deinit { if let timer = unsafe timer { _ = unsafe timer_delete(timer) } }

  package borrowing func interrupt(everyMilliseconds interval: Int, _ body: () -> Void) {
    set(milliseconds: interval)
    body()
    set(milliseconds: 0)
  }

  private borrowing func set(milliseconds: Int) {
    guard let timer = unsafe timer else { return }
    var time = itimerspec()
    time.it_value.tv_nsec = milliseconds * 1_000_000
    time.it_interval.tv_nsec = milliseconds * 1_000_000
    _ = unsafe timer_settime(timer, 0, &time, nil)
  }
}
