// SPDX-License-Identifier: Apache-2.0

/// How to enforce the vetoes. logind has one lock for reboot and power-off, and one for all kinds of sleep.
/// If only some of a lock's actions are vetoed, their targets are masked, and the lock does not bind root.
nonisolated package struct Enforcement: Equatable, Sendable {
  package enum Block: Sendable {
    case none
    /// `block-weak`: shows who objects, but does not bind root.
    case weak
    case full
  }

  package struct Logind: Equatable, Sendable {
    /// Since systemd 257; nil if logind never ran.
    package var bindsRoot: Bool?
    package var isAnswering = true

    package init(bindsRoot: Bool? = nil, isAnswering: Bool = true) {
      (self.bindsRoot, self.isAnswering) = (bindsRoot, isAnswering)
    }
  }

  package private(set) var blocks: [HostQuestion.Lock: Block] = [:]
  package private(set) var targets: Set<String> = []

  /// - Parameters:
  ///   - overridden: allowed by the bus despite vetoes; their targets stay unmasked.
  ///   - masksTargets: `Enforce=`; nil masks only where locks do not bind root.
  ///   - masked: nil after a failure to mask.
  package init(
    vetoed: Set<HostQuestion>, overridden: Set<HostQuestion>, masksTargets: Bool?, logind: Logind,
    masked: Set<String>?
  ) {
    let masksAll = masksTargets ?? (logind.bindsRoot == false || !logind.isAnswering)
    // An override of a wider question does not unmask the `ownTarget` of a question that is still vetoed.
    let others = Set(vetoed.subtracting(overridden).map(\.ownTarget))
    let free = Set(overridden.flatMap(\.targets)).subtracting(others)
    for lock in HostQuestion.Lock.allCases {
      let questions = Set(lock.questions)
      let wanted = Set(vetoed.intersection(questions).flatMap(\.targets)).subtracting(free)
      let isOverridden = !overridden.isDisjoint(with: questions)
      let isPart = !wanted.isSuperset(of: questions.flatMap(\.targets))
      if masksAll || isOverridden || isPart && logind.bindsRoot == true { targets.formUnion(wanted) }
      // The lock stays until the mask is in place. After a failure to mask, an override still releases it.
      let isMasked = masked.map { $0.isSuperset(of: wanted) } ?? isOverridden
      blocks[lock] =
        if wanted.isEmpty || isOverridden && isMasked {
          Block.none
        } else if isPart && isMasked && logind.bindsRoot == true { .weak } else { .full }
    }
  }
}
