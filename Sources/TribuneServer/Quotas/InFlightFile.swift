// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

/// A file in memory that came with a post, for as long as somebody is still to be sent it; and after that, room for the
/// next one.
///
/// It can be asked for by whatever thread lets go of it last, which the compiler cannot know to be the main one: hence
/// the atomics, which here cost what other integers do.
nonisolated final class InFlightFile: AttachedFile {
  /// How many there are.
  final class Count: Sendable {
    private let value = Atomic(0)

    var current: Int { value.load(ordering: .relaxed) }

    fileprivate func change(by difference: Int) { value.add(difference, ordering: .relaxed) }
  }

  private static let none: Int32 = -1

  private let descriptor = Atomic(InFlightFile.none)
  private let byteCount = Atomic(0)
  private let count: Count
  /// Of the files of whoever posted it.
  let userCount: Count
  let user: UInt32

  /// Holds no file yet.
  init(countedIn count: Count, _ userCount: Count, user: UInt32) {
    self.count = count
    self.userCount = userCount
    self.user = user
  }

  deinit { close() }

  var length: Int { byteCount.load(ordering: .relaxed) }
  var rawDescriptor: Int32 { descriptor.load(ordering: .relaxed) }

  /// Takes a file over, where none is held.
  func hold(_ file: consuming FileDescriptor, length: Int) {
    let before = descriptor.exchange(file.release(), ordering: .relaxed)
    precondition(before == Self.none, "a file is held already")
    byteCount.store(length, ordering: .relaxed)
    count.change(by: 1)
    userCount.change(by: 1)
  }

  /// Closes the file, if there is one.
  func close() {
    let held = descriptor.exchange(Self.none, ordering: .relaxed)
    guard held != Self.none else { return }
    FileDescriptor(owning: held).close()
    count.change(by: -1)
    userCount.change(by: -1)
  }
}
