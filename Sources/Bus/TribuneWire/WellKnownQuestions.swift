// SPDX-License-Identifier: Apache-2.0

/// The questions in docs/NAMES.md.
package enum WellKnownQuestions {
  package static let names = [
    "host.shouldReboot", "host.shouldKexec", "host.shouldSoftReboot", "host.shouldPowerOff",
    "host.shouldHalt", "host.shouldSuspend", "host.shouldHibernate", "host.shouldHybridSleep",
    "host.shouldSuspendThenHibernate", "unit.shouldStart", "unit.shouldRestart", "packages.shouldChange",
    "backup.shouldPrune", "archive.shouldPrune", "disk.shouldUnmount", "cluster.shouldReboot",
    "cluster.fleetlock.shouldReboot", "window.shouldClose", "window.shouldMove", "window.shouldZoom",
    "application.shouldOpenURL", "scrollView.shouldScrollToTop",
  ]

  /// Other words for the host's verbs.
  private static let otherWords = [
    "shutdown": "host.shouldPowerOff", "restart": "host.shouldReboot", "sleep": "host.shouldSuspend",
  ]
  private static let firstTokens = Set(names.map { $0.prefix { $0 != "." }.lowercased()[...] })
  /// In lower case, the question and the action.
  private static let spellings = names.map { name in
    let (space, last) = NameSyntax.split(name.lowercased())
    return (name: name, question: "\(space)\(last)", action: "\(space)\(last.dropFirst("should".count))")
  }
  private static let patterns = names.map { Pattern(trusted: $0) }

  /// The value query by which tribune-logind reports how it enforces vetoes.
  package static let enforcement = "host.enforcement"

  package static func hostNames(matching pattern: String) -> [String] {
    guard let pattern = parsed(pattern) else { return [] }
    return names.filter { $0.hasPrefix("host.") && pattern.matches($0.utf8Bytes) }
  }

  /// The question that a valid pattern probably means, if it names none itself: with other capitals, without its
  /// *should*, or for the host's questions with one slip.
  package static func meant(by pattern: String) -> String? {
    let lower = pattern.lowercased()
    let first = lower.prefix { $0 != "." }
    // Each registration comes here, and few have a well-known first token.
    let isNearHost = (3...5).contains(first.count) && Spelling.distance(from: String(first), to: "host") <= 1
    guard !pattern.hasSuffix("*"), first == "*" || isNearHost || firstTokens.contains(first),
      let exact = parsed(pattern), let folded = parsed(lower),
      !patterns.contains(where: { exact.matches($0.text.utf8Bytes) })
    else { return nil }
    let isQuestion = NameSyntax.hasVerb(behind: "should", in: pattern.utf8Bytes)
    if first == "host" {
      let last = NameSyntax.split(lower).last
      if let meant = otherWords[String(isQuestion ? last.dropFirst("should".count) : last)] { return meant }
    }
    for (name, question, action) in spellings {
      let isMeant =
        folded.matches(question.utf8Bytes) || folded.matches(action.utf8Bytes)
        || isQuestion && isNearHost && question.hasPrefix("host.")
          && Spelling.distance(from: lower, to: question) == 1
      if isMeant {
        return pattern.contains("*")
          ? "\(NameSyntax.split(pattern).space)\(NameSyntax.split(name).last)" : name
      }
    }
    return nil
  }

  package static func similar(to name: RawSpan) -> String? {
    var similar: String?
    for pattern in patterns {
      if pattern.text.utf8Bytes.isEqual(to: name) { return nil }
      similar = similar ?? pattern.name(meantBy: name)
    }
    return similar
  }

  private static func parsed(_ pattern: String) -> Pattern? {
    do throws(WireError) {
      return try Pattern(pattern)
    } catch {
      return nil
    }
  }
}
