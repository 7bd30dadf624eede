// SPDX-License-Identifier: Apache-2.0

/// The logind locks and masked systemd targets that enforce the vetoes. logind has one lock for all kinds of
/// shutdown, and one for all kinds of sleep. A lock shows the reasons of the vetoes. A masked target stops
/// all users and all ways to start the action.
///
/// At first, a lock is full, and stops all its actions, even those without a veto. Once the targets of the
/// vetoed actions are masked, the lock changes in two cases:
/// - An override allows one of the lock's actions: the lock ends.
/// - There is no override, and a full lock would stop even root from an action without a veto: the lock
///   becomes weak.
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
  ///   - overridden: questions that the bus allowed despite vetoes.
  ///   - masksTargets: true for `Enforce=mask`, false for `Enforce=inhibit`. If false, the targets of a
  ///     lock's vetoed actions are masked in two cases: an override allows one of the lock's actions, or a
  ///     full lock would stop even root from an action without a veto.
  ///   - bindsRoot: true if a full lock stops root (since systemd 257); nil until logind has replied.
  ///   - masked: the masked targets; nil if unknown, for example after a failure to mask.
  package init(
    vetoed: Set<HostQuestion>, overridden: Set<HostQuestion>, masksTargets: Bool, bindsRoot: Bool?,
    masked: Set<String>?
  ) {
    // An override unmasks its question's targets, except the main target (`ownTarget`) of another question
    // that is vetoed and not overridden.
    let others = Set(vetoed.subtracting(overridden).map(\.ownTarget))
    let free = Set(overridden.flatMap(\.targets)).subtracting(others)
    for lock in HostQuestion.Lock.allCases {
      let questions = Set(lock.questions)
      let wanted = Set(vetoed.intersection(questions).flatMap(\.targets)).subtracting(free)
      let isOverridden = !overridden.isDisjoint(with: questions)
      let isPart = !wanted.isSuperset(of: questions.flatMap(\.targets))
      if masksTargets || isOverridden || isPart && bindsRoot == true { targets.formUnion(wanted) }
      // Until the wanted targets are masked, the full lock stays. If `masked` is unknown, an override lifts
      // the lock without waiting for the masks.
      let isMasked = masked.map { $0.isSuperset(of: wanted) } ?? isOverridden
      blocks[lock] =
        if wanted.isEmpty || isOverridden && isMasked {
          Block.none
        } else if isPart && isMasked && bindsRoot == true { .weak } else { .full }
    }
  }
}
