// SPDX-License-Identifier: Apache-2.0

/// Received descriptors that wait for their frames, in the order of their arrival.
package struct PassedDescriptors: ~Copyable {
  /// The largest number of descriptors in one read. Legitimate peers send fewer with one call.
  package static let countPerReadMax = 16

  package enum Passed: ~Copyable {
    case descriptor(FileDescriptor)
    /// The descriptor was lost, because this process was at its limit of descriptors.
    case lost
    /// The descriptor was not that of a file in memory.
    case foreign
  }

  package static let lost: CInt = -1
  package static let foreign: CInt = -2

  private var waiting: [CInt] = []

  package init() {}

  deinit {
    for descriptor in waiting where descriptor >= 0 { FileDescriptor(owning: descriptor).close() }
  }

  package var count: Int { waiting.count }
  package var isEmpty: Bool { waiting.isEmpty }

  package mutating func popFirst() -> Passed? {
    if waiting.isEmpty { return nil }
    return switch waiting.removeFirst() {
    case Self.lost: .lost
    case Self.foreign: .foreign
    case let first: .descriptor(FileDescriptor(owning: first))
    }
  }

  package var rawValues: [CInt] { waiting }

  /// Removes everything. Returns the descriptors, which the caller owns, without `lost` and `foreign`.
  package mutating func releaseAll() -> [CInt] {
    var released: [CInt] = []
    swap(&released, &waiting)
    return released.filter { $0 >= 0 }
  }

  package mutating func append(owning descriptor: CInt) { waiting.append(descriptor) }

  /// Appends the number `lost` or `foreign` in place of a descriptor that is lost or foreign.
  package mutating func append(standIn: CInt) {
    precondition(standIn == Self.lost || standIn == Self.foreign)
    waiting.append(standIn)
  }

  mutating func appendLost() { waiting.append(Self.lost) }
}
