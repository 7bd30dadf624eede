// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
package import TribuneWire

package enum ProgramHeap {
  /// Returns all unused pages to the kernel. The allocator itself returns only free memory at the heap's end,
  /// behind long-lived allocations. Takes about 0.1 s per returned GiB.
  package static func release() { _ = malloc_trim(0) }

  /// For a size that a peer chooses. Swift's own allocation would end the process without memory; this uses
  /// malloc(3), whose memory Swift frees like its own, and throws `outOfMemory`.
  package static func buffer(capacity: Int) throws(WireError) -> ByteBuffer {
    guard let base = unsafe malloc(max(capacity, 1)) else {
      throw WireError(.outOfMemory, "the system has no memory for another \(capacity) bytes")
    }
    return unsafe ByteBuffer(adopting: base, capacity: capacity)
  }
}
