// SPDX-License-Identifier: Apache-2.0

/// A descriptor in reserve. Its owner gives it up when the process is at its limit of descriptors.
package final class SpareDescriptor {
  private var descriptor: FileDescriptor?

  package init() { refill() }

  package func giveUp() { descriptor = nil }

  package func refill() {
    guard descriptor == nil else { return }
    do throws(Errno) {
      // The standard input is always open (`StandardDescriptors`).
      descriptor = try FileDescriptor.duplicate(of: 0)
    } catch {
      return
    }
  }
}
