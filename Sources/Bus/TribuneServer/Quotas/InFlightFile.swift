// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneCore
import TribuneSystem
import TribuneWire

/// A memory file that came with a post, for as long as a receiver still needs it. Then, the object is reused for
/// the next one.
///
/// The last reference may be released on any thread, as far as the compiler knows. Hence the atomics, which cost no
/// more than plain integers here.
nonisolated final class InFlightFile: AttachedFile {
  private static let none: Int32 = -1

  private let descriptor = Atomic(InFlightFile.none)
  private let byteCount = Atomic(0)
  /// The user who posted the file.
  let user: UserDescriptors

  /// Creates an object without a file.
  init(of user: UserDescriptors) { self.user = user }

  deinit { close() }

  var length: Int { byteCount.load(ordering: .relaxed) }
  var rawDescriptor: Int32 { descriptor.load(ordering: .relaxed) }

  /// Takes ownership of a file. There must be none yet.
  func take(_ file: consuming FileDescriptor, length: Int) {
    let before = descriptor.exchange(file.release(), ordering: .relaxed)
    precondition(before == Self.none, "there is a file already")
    byteCount.store(length, ordering: .relaxed)
    user.held.change(by: 1)
  }

  /// Closes the file, if there is one.
  func close() {
    let open = descriptor.exchange(Self.none, ordering: .relaxed)
    guard open != Self.none else { return }
    FileDescriptor(owning: open).close()
    user.held.change(by: -1)
  }
}
