// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// A descriptor that becomes readable when a signal arrives.
package struct SignalDescriptor: ~Copyable {
  private let descriptor: FileDescriptor

  /// Blocks the signals in this thread, and in the threads that it starts later.
  package init(_ numbers: [Int32]) throws(Errno) {
    let mask = SignalMask(numbers)
    mask.block()
    var set = mask.set
    let flags = O_CLOEXEC | O_NONBLOCK
    descriptor = FileDescriptor(owning: try retrying { unsafe signalfd(-1, &set, flags) })
  }

  package var rawValue: CInt { descriptor.rawValue }

  package func clear() {
    var information = InlineArray<16, UInt64>(repeating: 0)
    let descriptor = descriptor.rawValue
    _ = unsafe withUnsafeMutableBytes(of: &information) { unsafe read(descriptor, $0.baseAddress, $0.count) }
  }
}
