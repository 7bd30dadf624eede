// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// What this process has from the allocator.
package enum ProgramHeap {
  /// Gives the kernel back every page of the heap in which nothing is allocated.
  ///
  /// The allocator by itself gives back only what is free at the heap's end. It keeps every page before that, and
  /// something that lasts is always allocated behind much that was short-lived. This takes time in proportion to what is
  /// given back: about 0.1 s for a GiB.
  package static func release() {
    _ = malloc_trim(0)
  }
}
