// SPDX-License-Identifier: Apache-2.0

/// What a service tries before it is ready: each once, whether it succeeds or not.
@MainActor package final class FirstTries<Work: CaseIterable & Hashable> {
  private var open = Set(Work.allCases)
  private var waiting: CheckedContinuation<Void, Never>?

  package init() {}

  /// Has an effect once.
  package func finish(_ work: Work) {
    guard open.remove(work) != nil, open.isEmpty else { return }
    waiting?.resume()
    waiting = nil
  }

  /// Returns when all were tried. May be called once.
  package func waitForAll() async {
    if !open.isEmpty { await withCheckedContinuation { waiting = $0 } }
  }
}
