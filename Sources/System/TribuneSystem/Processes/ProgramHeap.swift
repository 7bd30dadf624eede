// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
package import TribuneWire

/// The heap of this process.
package enum ProgramHeap {
  /// Returns to the kernel every page of the heap in which nothing is allocated.
  ///
  /// By itself, the allocator returns only free memory at the heap's end. It keeps every page before that, and
  /// long-lived allocations always lie behind many short-lived ones. The time is proportional to the returned memory:
  /// about 0.1 s for a GiB.
  package static func release() { _ = malloc_trim(0) }

  /// A buffer of a size that a peer decides, which can be large.
  ///
  /// Swift's own allocation ends the process if there is no memory; so this uses malloc(3), whose memory Swift frees
  /// like its own.
  ///
  /// - Throws: `outOfMemory`.
  package static func buffer(capacity: Int) throws(WireError) -> ByteBuffer {
    guard let base = unsafe malloc(max(capacity, 1)) else {
      throw WireError(.outOfMemory, "the system has no memory for another \(capacity) bytes")
    }
    return unsafe ByteBuffer(adopting: base, capacity: capacity)
  }
}
