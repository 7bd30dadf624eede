// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The lines that decide which process may do what. The bus refuses an action that is not allowed by any
/// line. A deny line overrides all allow lines, whatever the order of the lines. A registration needs one
/// allow line that covers its whole pattern. A deny line for any part of the pattern refuses the
/// registration.
///
/// Observations and lists are exceptions. A deny line for a part of an observation's pattern removes only
/// this part. A deny line refuses the observation only if the line covers the whole pattern. A list includes
/// a registration if an allow line covers a part of the registration's pattern, unless one deny line covers
/// the whole pattern. A list includes data that belong to no name only if `Request.listAll` is allowed.
package struct Policy: Equatable, Sendable {
  package var lines: [PolicyLine]

  package init(_ lines: [PolicyLine] = []) { self.lines = lines }

  package enum Decision: Equatable, Sendable {
    case allowed(by: Int)
    case denied(by: Int)
    case notAllowed

    package var isAllowed: Bool { if case .allowed = self { true } else { false } }
  }

  package var namedGroups: [UInt32] {
    let groups = lines.lazy.flatMap(\.who).compactMap {
      if case .group(let group) = $0 { group } else { nil }
    }
    return Array(groups).inOrder
  }

  package func bound(to subject: Subject) -> [BoundLine] {
    lines.enumerated().filter { $1.applies(to: subject) }.map { $1.bound(to: subject.user, as: $0) }
  }

  package func decision(on request: Request, by subject: Subject) -> Decision {
    bound(to: subject).decision(on: request)
  }

  /// Decides the request. If its action also needs permission for another action, decides about the other
  /// action first. If the other action is refused, returns that refusal, with the request for the other
  /// action. Else returns the decision on `request`.
  package func wholeDecision(
    on request: Request, by subject: Subject
  ) -> (decision: Decision, request: Request) {
    if let needed = request.action.needed {
      let other = Request(needed, request.pattern, object: request.object)
      let decision = decision(on: other, by: subject)
      if !decision.isAllowed { return (decision, other) }
    }
    return (decision(on: request, by: subject), request)
  }

  /// True if the policy could allow the request for some process of the user. Assumes that the process is in
  /// all groups and units that allow lines need, and in none that deny lines name.
  package func mayAllow(_ request: Request, user: UInt32) -> Bool {
    possibleLines(for: user).decision(on: request).isAllowed
  }

  /// The patterns of the lines that could allow some process of the user to retain notifications.
  package func retainedPatterns(of user: UInt32) -> [Pattern] {
    possibleLines(for: user).filter { $0.effect == .allow && $0.actions.contains(.retain) }.flatMap(\.names)
  }

  private func possibleLines(for user: UInt32) -> [BoundLine] {
    let subject = Subject(user: user)
    let possible = lines.enumerated().filter { _, line in
      switch line.effect {
      case .allow: line.who.allSatisfy { $0.isMet(by: subject, for: .allow) || $0.isAboutProcesses }
      case .deny: line.applies(to: subject)
      }
    }
    return possible.map { $1.bound(to: user, as: $0) }
  }

  /// The decision as text for people, such as `denied by 20.policy:4`.
  package func reason(of decision: Decision) -> String {
    switch decision {
    case .allowed(let index): "allowed by \(lines[index].origin)"
    case .denied(let index): "denied by \(lines[index].origin)"
    case .notAllowed:
      lines.isEmpty ? "the policy has no lines" : "no line of the policy allows it"
    }
  }

  package var opensAll: PolicyLine? {
    lines.first { line in
      line.effect == .allow && line.actions == .all && line.object == nil && line.who == [.anyUser]
        && line.names.contains { $0.text == "**" }
    }
  }
}

extension Sequence<BoundLine> {
  package func decision(on request: Request) -> Policy.Decision {
    var decision = Policy.Decision.notAllowed
    for line in self where line.decides(on: request) {
      switch line.effect {
      case .deny: return .denied(by: line.index)
      case .allow: if case .notAllowed = decision { decision = .allowed(by: line.index) }
      }
    }
    return decision
  }
}

extension BoundLine {
  package func decides(on request: Request) -> Bool {
    actions.contains(request.action)
      && (request.isDecidedByPart(effect) ? overlaps(request) : contains(request))
  }
}

extension Request {
  package func isDecidedByPart(_ effect: PolicyLine.Effect) -> Bool {
    switch effect {
    case .deny: !action.isFiltered && !isSatisfiedByPart
    case .allow: isSatisfiedByPart
    }
  }
}

extension Action {
  /// True if a deny line for a part of a pattern leaves the rest of the pattern allowed.
  fileprivate var isFiltered: Bool { self == .observe || self == .list }
}
