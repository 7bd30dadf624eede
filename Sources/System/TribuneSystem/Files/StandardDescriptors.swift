// SPDX-License-Identifier: Apache-2.0

import Glibc

package enum StandardDescriptors {
  /// Opens /dev/null in place of each standard descriptor that the process was started without. Otherwise, the next
  /// opened file would get the number of standard output or standard error, and receive that output.
  ///
  /// Must be called before anything is opened. Without a /dev/null, they stay closed.
  package static func fill() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
    where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
      // open(2) takes the lowest free number, which is this one. Children inherit it, as they would the real one.
      _ = unsafe open("/dev/null", O_RDWR)
    }
  }
}
