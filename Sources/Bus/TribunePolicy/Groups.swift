// SPDX-License-Identifier: Apache-2.0

/// The primary and the supplementary groups of a process when it connected.
///
/// A process can have 65,536 supplementary groups. If it has more than `keptMax`, the bus keeps only the
/// primary group, and the groups that the policy names when the process connects. The process's membership in
/// all other groups is then unknown.
package struct Groups: Hashable, Sendable {
  package static let keptMax = 128

  package let members: [UInt32]
  /// The groups for which the bus checked the membership, in ascending order. nil if `members` is complete.
  package let lookedUp: [UInt32]?

  package init(_ members: [UInt32], lookedUp: [UInt32]? = nil) {
    self.members = members.inOrder
    self.lookedUp = lookedUp?.inOrder
  }

  /// - Parameters:
  ///   - supplementary: the supplementary groups, or nil if they are unknown.
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
    // `hasInOrder` needs sorted groups. The kernel returns them sorted, so this sort is fast.
    let all = supplementary.sorted()
    self.init([primary] + named.filter(all.hasInOrder), lookedUp: named)
  }

  /// Returns nil if it is unknown whether the process is in the group.
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
  var inOrder: [UInt32] {
    if zip(self, dropFirst()).allSatisfy({ $0 < $1 }) { return self }
    var result: [UInt32] = []
    result.reserveCapacity(count)
    for number in sorted() where number != result.last { result.append(number) }
    return result
  }

  /// The array must be in ascending order.
  fileprivate func hasInOrder(_ number: UInt32) -> Bool {
    var (start, end) = (0, count)
    while start < end {
      let middle = (start + end) / 2
      if self[middle] < number { start = middle + 1 } else { end = middle }
    }
    return start < count && self[start] == number
  }
}
