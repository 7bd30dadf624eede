// SPDX-License-Identifier: Apache-2.0

import Glibc

package enum StandardDescriptors {
  /// Opens /dev/null for missing standard descriptors: otherwise the next opened file could become standard
  /// output. Reads of such an input and writes to such an output fail, as without a descriptor (EBADF). Must
  /// be called before any file is opened.
  package static func fill() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
    where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
      // open(2) takes the lowest free number, which is the missing one. Children inherit the descriptor.
      _ = unsafe open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }
}
