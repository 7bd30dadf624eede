// SPDX-License-Identifier: Apache-2.0

/// How to enforce the vetoes: by a logind lock, which gives the reasons, and by masked targets, which bind everybody
/// and all ways to start an action. logind has one lock for reboot and power-off, and one for all kinds of sleep. If
/// only some of a lock's actions are vetoed, the bridge takes a lock that does not bind root.
nonisolated package struct Enforcement: Equatable, Sendable {
  package enum Block: Sendable {
    case none
    /// A `block-weak` lock shows who objects, but does not bind root.
    case weak
    case full
  }

  package private(set) var blocks: [HostQuestion.Lock: Block] = [:]
  package private(set) var targets: Set<String> = []

  /// - Parameters:
  ///   - overridden: questions that the bus allowed despite vetoes. Their targets stay unmasked.
  ///   - masksTargets: `Enforce=`. If false, targets are masked only where a lock would stop more than what is vetoed.
  ///   - bindsRoot: true since systemd 257; nil if the bridge has not reached logind.
  ///   - masked: the masked targets; nil after a failure to mask.
  package init(
    vetoed: Set<HostQuestion>, overridden: Set<HostQuestion>, masksTargets: Bool, bindsRoot: Bool?,
    masked: Set<String>?
  ) {
    // If a narrower question is still vetoed, an override of a wider one does not unmask its `ownTarget`.
    let others = Set(vetoed.subtracting(overridden).map(\.ownTarget))
    let free = Set(overridden.flatMap(\.targets)).subtracting(others)
    for lock in HostQuestion.Lock.allCases {
      let questions = Set(lock.questions)
      let wanted = Set(vetoed.intersection(questions).flatMap(\.targets)).subtracting(free)
      let isOverridden = !overridden.isDisjoint(with: questions)
      let isPart = !wanted.isSuperset(of: questions.flatMap(\.targets))
      if masksTargets || isOverridden || isPart && bindsRoot == true { targets.formUnion(wanted) }
      // The full lock stays until the targets are masked. If masking has failed, an override releases the lock.
      let isMasked = masked.map { $0.isSuperset(of: wanted) } ?? isOverridden
      blocks[lock] =
        if wanted.isEmpty || isOverridden && isMasked {
          Block.none
        } else if isPart && isMasked && bindsRoot == true { .weak } else { .full }
    }
  }
}
