// SPDX-License-Identifier: Apache-2.0

import Tribune

nonisolated extension ReplyEnvelope {
  init(_ verdict: Verdict) {
    if verdict.isAllowed {
      // A verdict by default, without answers, is not an approval.
      self = verdict.isUnanswered ? .abstain : .approve
      return
    }
    let objections = verdict.objections
    let others = objections.count - 1 + verdict.omittedCount
    self = .veto(objections[0] + (others > 0 ? "; and \(others) more" : ""))
  }

  init(_ reply: QueryReply) {
    self = reply.value != nil ? .value : .abstain
  }
}

nonisolated extension Verdict {
  /// The reasons against the action, at least one.
  var objections: [String] {
    // A failed outcome does not show whether it was a veto, so explicit vetoes come first.
    let vetoes = outcomes.filter(\.isMeantVeto) + outcomes.filter(\.isFailure)
    guard vetoes.isEmpty else { return vetoes.map(\.objection) }
    return [
      isUnanswered ? "nobody answered, and the configuration vetoes then" : "vetoed, without a reason"
    ]
  }
}

nonisolated extension Outcome {
  fileprivate var isMeantVeto: Bool { kind == .vetoed || kind == .held }

  fileprivate var isFailure: Bool { kind == .timedOut || kind == .gone || kind == .failed }

  /// Such as `restore (pid 42, restore.service): a restore is running`.
  fileprivate var objection: String {
    let who = label.isEmpty ? (process.isEmpty ? "a delegate" : process) : label
    let place =
      pid > 0 ? " (" + ["pid \(pid)", unit].filter { !$0.isEmpty }.joined(separator: ", ") + ")" : ""
    let what =
      switch kind {
      case .timedOut: "did not answer in time"
      case .gone: "has gone"
      case .failed: "failed"
      default: ""
      }
    let why = [what, reason].filter { !$0.isEmpty }.joined(separator: ": ")
    return "\(who)\(place)" + (why.isEmpty ? "" : ": \(why)")
  }
}
