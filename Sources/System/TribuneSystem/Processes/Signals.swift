// SPDX-License-Identifier: Apache-2.0

import Glibc

package enum Signals {
  package static let interrupt = SIGINT
  package static let quit = SIGQUIT
  package static let hangUp = SIGHUP
  package static let terminate = SIGTERM
  package static let kill = SIGKILL
  package static let user1 = SIGUSR1
  package static let user2 = SIGUSR2
  /// The signal of Ctrl-Z. Unlike SIGSTOP, it can be handled.
  package static let terminalStop = SIGTSTP
  package static let resume = SIGCONT
  package static let brokenPipe = SIGPIPE
  package static let windowChange = SIGWINCH

  /// Ignores the signal, in this process and its children.
  package static func ignore(_ number: Int32) { signal(number, SIG_IGN) }

  /// Gives the signal a handler that does nothing.
  package static func handle(_ number: Int32) { signal(number) { _ in } }
}
