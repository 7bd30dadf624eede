// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The numbers of the signals that the programs know, and their dispositions.
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
  /// The terminal has another size.
  package static let windowChange = SIGWINCH

  /// Ignores a signal in the whole process, and in the children that it will start.
  package static func ignore(_ number: Int32) { signal(number, SIG_IGN) }
}
