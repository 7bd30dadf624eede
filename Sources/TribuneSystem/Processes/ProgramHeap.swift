// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
package import TribuneWire

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

  /// A buffer that can be long, of a size that a peer decides.
  ///
  /// Swift's own way to allocate ends the process where there is no memory; it frees what malloc(3) has given as it frees
  /// its own.
  ///
  /// - Throws: `outOfMemory`.
  package static func buffer(capacity: Int) throws(WireError) -> ByteBuffer {
    guard let base = unsafe malloc(max(capacity, 1)) else {
      throw WireError(.outOfMemory, "the system has no memory for \(capacity) bytes more")
    }
    return unsafe ByteBuffer(adopting: base, capacity: capacity)
  }
}
