// SPDX-License-Identifier: Apache-2.0

/// The first attempts that must finish, successfully or not, before a service is ready.
@MainActor package final class FirstTries<Work: CaseIterable & Hashable> {
  private var open = Set(Work.allCases)
  private var waiting: CheckedContinuation<Void, Never>?

  package init() {}

  /// A second call for the same work has no effect.
  package func finish(_ work: Work) {
    guard open.remove(work) != nil, open.isEmpty else { return }
    waiting?.resume()
    waiting = nil
  }

  /// Waits until all work is finished. May be called only once.
  package func waitForAll() async {
    if !open.isEmpty { await withCheckedContinuation { waiting = $0 } }
  }
}
