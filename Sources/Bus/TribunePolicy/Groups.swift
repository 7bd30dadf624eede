// SPDX-License-Identifier: Apache-2.0

/// The primary group and the supplementary groups of a process when it connected.
///
/// A process can have 65,536 groups, and the bus remembers those of each connection. So of a process with more than
/// `keptMax`, only the groups that the policy names are looked up and kept. If a later policy names others, it is unknown
/// whether the process is in them.
package struct Groups: Hashable, Sendable {
  /// Supplementary groups of a process of which all are kept.
  package static let keptMax = 128

  /// Those that are known, in ascending order.
  package let members: [UInt32]
  /// The groups that were looked up, in ascending order; nil for all.
  package let lookedUp: [UInt32]?

  /// - Parameter lookedUp: nil if `members` are all groups of the process.
  package init(_ members: [UInt32], lookedUp: [UInt32]? = nil) {
    self.members = members.inOrder
    self.lookedUp = lookedUp?.inOrder
  }

  /// - Parameters:
  ///   - supplementary: as the kernel has them; nil if they are unknown.
  ///   - named: the groups that the policy names, in ascending order.
  package init(primary: UInt32, supplementary: [UInt32]?, named: [UInt32]) {
    guard let supplementary else {
      self.init([primary], lookedUp: [])
      return
    }
    guard supplementary.count > Self.keptMax else {
      self.init(supplementary + [primary])
      return
    }
    // The kernel has them in order, so that this takes little time.
    let all = supplementary.sorted()
    self.init([primary] + named.filter(all.hasInOrder), lookedUp: named)
  }

  /// - Returns: nil if it is unknown.
  package func contains(_ group: UInt32) -> Bool? {
    if members.hasInOrder(group) { return true }
    guard let lookedUp else { return false }
    return lookedUp.hasInOrder(group) ? false : nil
  }
}

extension Groups: ExpressibleByArrayLiteral {
  package init(arrayLiteral all: UInt32...) { self.init(all) }
}

extension [UInt32] {
  /// The numbers in ascending order, each of them once. The same array if it is so already.
  var inOrder: [UInt32] {
    if zip(self, dropFirst()).allSatisfy({ $0 < $1 }) { return self }
    var result: [UInt32] = []
    result.reserveCapacity(count)
    for number in sorted() where number != result.last { result.append(number) }
    return result
  }

  /// Whether the numbers, which must be in ascending order, have one.
  fileprivate func hasInOrder(_ number: UInt32) -> Bool {
    var (start, end) = (0, count)
    while start < end {
      let middle = (start + end) / 2
      if self[middle] < number { start = middle + 1 } else { end = middle }
    }
    return start < count && self[start] == number
  }
}
