// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

/// A file in memory that came with a post, for as long as somebody is still to be sent it.
///
/// It can be asked for by whatever thread lets go of it last, which the compiler cannot know to be the main one.
nonisolated final class HeldFile: AttachedFile {
  /// How many there are.
  final class Count: Sendable {
    private let value = Atomic(0)

    var current: Int { value.load(ordering: .relaxed) }

    fileprivate func change(by difference: Int) { value.add(difference, ordering: .relaxed) }
  }

  let file: MemoryFile
  private let counts: [Count]

  init(_ file: MemoryFile, in counts: Count...) {
    self.file = file
    self.counts = counts
    for count in counts { count.change(by: 1) }
  }

  deinit {
    for count in counts { count.change(by: -1) }
  }

  var length: Int { file.length }
  var rawDescriptor: Int32 { file.rawDescriptor }
}
