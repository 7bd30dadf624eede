// SPDX-License-Identifier: Apache-2.0

/// What a veto has to be enforced with, from all that is known.
///
/// logind has one lock for a reboot and a power off, and another for all ways to sleep. Where only a part of what a lock
/// blocks is vetoed, the targets of that part are masked, and the lock does not bind root.
nonisolated package struct Enforcement: Equatable, Sendable {
  package enum Block: Sendable {
    case none
    /// `block-weak`: it shows who objects, and does not bind root.
    case weak
    case full
  }

  /// logind, as far as it is known.
  package struct Logind: Equatable, Sendable {
    /// Whether its locks bind root, as from systemd 257 on; nil if it never ran.
    package var bindsRoot: Bool?
    package var isAnswering = true

    package init(bindsRoot: Bool? = nil, isAnswering: Bool = true) {
      (self.bindsRoot, self.isAnswering) = (bindsRoot, isAnswering)
    }
  }

  package private(set) var blocks: [HostQuestion.Lock: Block] = [:]
  /// The targets to mask.
  package private(set) var targets: Set<String> = []

  /// - Parameters:
  ///   - vetoed: the questions that somebody objects to.
  ///   - overridden: those that the bus has allowed in spite of that. Nothing is in the way of their targets.
  ///   - masksTargets: `Enforce=`; nil to mask where locks do not bind root.
  ///   - masked: what is masked already; nil if it could not be.
  package init(
    vetoed: Set<HostQuestion>, overridden: Set<HostQuestion>, masksTargets: Bool?, logind: Logind,
    masked: Set<String>?
  ) {
    let masksAll = masksTargets ?? (logind.bindsRoot == false || !logind.isAnswering)
    let free = Set(overridden.flatMap(\.targets))
    for lock in HostQuestion.Lock.allCases {
      let questions = Set(lock.questions)
      let wanted = Set(vetoed.intersection(questions).flatMap(\.targets)).subtracting(free)
      let isOverridden = !overridden.isDisjoint(with: questions)
      let isPart = !wanted.isSuperset(of: questions.flatMap(\.targets))
      if masksAll || isOverridden || isPart && logind.bindsRoot == true { targets.formUnion(wanted) }
      // The lock stays until the mask is there. An override does not depend on that.
      let isMasked = masked.map { $0.isSuperset(of: wanted) } ?? isOverridden
      blocks[lock] =
        if wanted.isEmpty || isOverridden && isMasked {
          Block.none
        } else if isPart && isMasked && logind.bindsRoot == true { .weak } else { .full }
    }
  }
}
