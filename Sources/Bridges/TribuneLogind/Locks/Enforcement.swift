// SPDX-License-Identifier: Apache-2.0

/// The locks and masks that enforce the vetoes. A logind lock shows the reasons of the vetoes. A masked
/// target stops all users and all ways to start the action. logind has one lock for all kinds of shutdown,
/// and one for all kinds of sleep. If only some of a lock's actions are vetoed and masked, the lock is weak.
nonisolated package struct Enforcement: Equatable, Sendable {
  package enum Block: Sendable {
    case none
    /// A `block-weak` lock shows the reasons, but does not stop root.
    case weak
    case full
  }

  package private(set) var blocks: [HostQuestion.Lock: Block] = [:]
  package private(set) var targets: Set<String> = []

  /// - Parameters:
  ///   - overridden: questions that the bus allowed despite vetoes. Their targets stay unmasked.
  ///   - masksTargets: `Enforce=`. If false, targets are masked only where a full lock would stop allowed
  ///     actions.
  ///   - bindsRoot: true if a full lock stops root (since systemd 257); nil if logind is unreachable.
  ///   - masked: the masked targets; nil after a failure to mask.
  package init(
    vetoed: Set<HostQuestion>, overridden: Set<HostQuestion>, masksTargets: Bool, bindsRoot: Bool?,
    masked: Set<String>?
  ) {
    // An override unmasks all targets of its question, except the own targets of other vetoed questions.
    let others = Set(vetoed.subtracting(overridden).map(\.ownTarget))
    let free = Set(overridden.flatMap(\.targets)).subtracting(others)
    for lock in HostQuestion.Lock.allCases {
      let questions = Set(lock.questions)
      let wanted = Set(vetoed.intersection(questions).flatMap(\.targets)).subtracting(free)
      let isOverridden = !overridden.isDisjoint(with: questions)
      let isPart = !wanted.isSuperset(of: questions.flatMap(\.targets))
      if masksTargets || isOverridden || isPart && bindsRoot == true { targets.formUnion(wanted) }
      // Until the targets are masked, the full lock stays. If masking fails, an override releases the lock.
      let isMasked = masked.map { $0.isSuperset(of: wanted) } ?? isOverridden
      blocks[lock] =
        if wanted.isEmpty || isOverridden && isMasked {
          Block.none
        } else if isPart && isMasked && bindsRoot == true { .weak } else { .full }
    }
  }
}
