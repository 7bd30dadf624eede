// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneCore
import TribuneSystem
import TribuneWire

/// The memory file of a post, while receivers need it. `FileFrames` reuses the instance for further files.
///
/// The fields are atomic only to satisfy the compiler, which assumes that any thread could release the last
/// reference to the instance. Relaxed atomics cost as much as plain integers.
nonisolated final class InFlightFile: AttachedFile {
  private static let none: Int32 = -1

  private let descriptor = Atomic(InFlightFile.none)
  private let byteCount = Atomic(0)
  let user: UserDescriptors

  init(of user: UserDescriptors) { self.user = user }

  deinit { close() }

  var length: Int { byteCount.load(ordering: .relaxed) }
  var rawDescriptor: Int32 { descriptor.load(ordering: .relaxed) }

  func take(_ file: consuming FileDescriptor, length: Int) {
    let before = descriptor.exchange(file.release(), ordering: .relaxed)
    precondition(before == Self.none, "there is a file already")
    byteCount.store(length, ordering: .relaxed)
    user.held.change(by: 1)
  }

  func close() {
    let open = descriptor.exchange(Self.none, ordering: .relaxed)
    guard open != Self.none else { return }
    FileDescriptor(owning: open).close()
    user.held.change(by: -1)
  }
}
