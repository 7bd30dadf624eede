// SPDX-License-Identifier: Apache-2.0

import Glibc

package enum StandardDescriptors {
  /// Opens /dev/null in the place of each of the three that the process was started without: what is
  /// opened next would else be standard output or standard error, and be written to as that.
  ///
  /// Has to be called before anything is opened. Without a /dev/null they stay closed.
  package static func fill() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
    where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
      // The lowest that is free is taken, which is this one. Children have it too, as they would have had
      // the real one.
      _ = unsafe open("/dev/null", O_RDWR)
    }
  }
}
