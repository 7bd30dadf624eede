// SPDX-License-Identifier: Apache-2.0

/// What a gateway does on a bus from the moment that it has connected. It is ready when each was tried once.
final class FirstTries {
  enum Work: CaseIterable {
    case exports, durableExports, retained, leases, scopes
  }

  private var open = Set(Work.allCases)
  private let allOver: () -> Void

  init(_ allOver: @escaping () -> Void) { self.allOver = allOver }

  /// Has an effect once.
  func isOver(_ work: Work) {
    if open.remove(work) != nil, open.isEmpty { allOver() }
  }
}
