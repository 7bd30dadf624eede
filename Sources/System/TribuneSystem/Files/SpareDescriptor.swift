// SPDX-License-Identifier: Apache-2.0

/// A descriptor that is given up when a call needs one, and this process has reached its limit.
package final class SpareDescriptor {
  private var descriptor: FileDescriptor?

  package init() { refill() }

  package func giveUp() { descriptor = nil }

  /// Takes a descriptor again, if there is one.
  package func refill() {
    guard descriptor == nil else { return }
    do throws(Errno) {
      // The standard input is always open (`StandardDescriptors`).
      descriptor = try FileDescriptor.duplicate(of: 0)
    } catch {
      // At the limit; the next call tries again.
      return
    }
  }
}
