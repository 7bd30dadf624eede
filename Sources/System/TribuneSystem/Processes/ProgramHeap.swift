// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
package import TribuneWire

package enum ProgramHeap {
  /// Returns free memory to the kernel. free(3) itself returns only large, separately mapped blocks, and the
  /// free memory at the heap's upper end. A call takes about 0.1 s per GiB.
  package static func release() { _ = malloc_trim(0) }

  /// Allocates a buffer whose size a peer chooses. Throws if memory is short: Swift's own allocation would
  /// end the process. The memory comes from malloc(3), so Swift can free it like its own.
  package static func buffer(capacity: Int) throws(WireError) -> ByteBuffer {
    guard let base = unsafe malloc(max(capacity, 1)) else {
      throw WireError(.outOfMemory, "the system has no memory for another \(capacity) bytes")
    }
    return unsafe ByteBuffer(adopting: base, capacity: capacity)
  }
}
