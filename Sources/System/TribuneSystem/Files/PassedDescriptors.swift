// SPDX-License-Identifier: Apache-2.0

/// Descriptors that came over a socket and that no frame has taken yet, in order.
package struct PassedDescriptors: ~Copyable {
  /// The most descriptors that one read takes. A legitimate peer never sends more with one call.
  package static let countPerReadMax = 16

  package enum Passed: ~Copyable {
    case descriptor(FileDescriptor)
    /// This process was at its limit on descriptors when it came.
    case lost
    /// It was not a file in memory, and was not kept for its frame.
    case foreign
  }

  /// Stand-ins for a descriptor that was lost, and for a foreign one.
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

  /// The descriptors in order, or their stand-ins, `lost` and `foreign`.
  package var rawValues: [CInt] { waiting }

  /// Gives up all of them without closing them, and drops stand-ins.
  package mutating func releaseAll() -> [CInt] {
    var released: [CInt] = []
    swap(&released, &waiting)
    return released.filter { $0 >= 0 }
  }

  /// Takes over a descriptor that no other code will close.
  package mutating func append(owning descriptor: CInt) { waiting.append(descriptor) }

  /// Appends a stand-in for a descriptor that another process had, and has not handed over.
  package mutating func append(standIn: CInt) {
    precondition(standIn == Self.lost || standIn == Self.foreign)
    waiting.append(standIn)
  }

  mutating func appendLost() { waiting.append(Self.lost) }
}
