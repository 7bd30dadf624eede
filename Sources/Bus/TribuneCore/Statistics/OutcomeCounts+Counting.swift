// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension OutcomeCounts {
  var total: UInt64 { approved &+ vetoed &+ abstained &+ timedOut &+ gone &+ failed &+ held &+ answered }

  @inline(__always) mutating func count(_ outcome: OutcomeKind) {
    switch outcome {
    case .approved: approved &+= 1
    case .vetoed: vetoed &+= 1
    case .abstained: abstained &+= 1
    case .timedOut: timedOut &+= 1
    case .gone: gone &+= 1
    case .failed: failed &+= 1
    case .held: held &+= 1
    case .answered: answered &+= 1
    }
  }

  mutating func add(_ other: OutcomeCounts) {
    approved &+= other.approved
    vetoed &+= other.vetoed
    abstained &+= other.abstained
    timedOut &+= other.timedOut
    gone &+= other.gone
    failed &+= other.failed
    held &+= other.held
    answered &+= other.answered
  }
}

extension OutcomeKind {
  init(_ failure: ObserverFailure?) {
    self =
      switch failure {
      case nil: .answered
      case .failed: .failed
      case .gone: .gone
      case .timedOut: .timedOut
      }
  }
}
