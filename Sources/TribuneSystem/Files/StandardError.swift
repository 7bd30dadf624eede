// SPDX-License-Identifier: Apache-2.0

import Glibc

package enum StandardError {
  /// Writes the text and a line break in one call, so that lines of several processes do not mix. A failure is
  /// ignored: there is nowhere else to report it.
  package static func writeLine(_ text: String) {
    let line = Array("\(text)\n".utf8)
    while unsafe write(STDERR_FILENO, line, line.count) == -1, errno == EINTR {}
  }
}
