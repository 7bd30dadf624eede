// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// Interrupts system calls of the thread that called `init`, by SIGURG. A timer repeats the signal, because
/// the first one may come before the system call. SIGURG is harmless: a process without a handler ignores it.
@safe
package struct Interrupter: ~Copyable {
  private static let signal = SIGURG

  /// The handler does nothing. It lacks SA_RESTART, which would continue the system call.
  private static let handler: Void = {
    var action = sigaction()
    unsafe action.__sigaction_handler.sa_handler = { _ in }
    let result = unsafe sigaction(signal, &action, nil)
    precondition(result == 0, "SIGURG has a handler")
  }()

  /// The timer that sends SIGURG. It is nil if the kernel has refused a timer.
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
