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
  private static let patterns = names.map { Pattern(trusted: $0) }

  /// By this value query, tribune-logind reports which locks follow its vetoes.
  package static let enforcement = "host.enforcement"

  package static func hostNames(matching pattern: String) -> [String] {
    names.filter { $0.hasPrefix("host.") && isMatch(pattern, $0) }
  }

  /// The question that a valid pattern probably means, if it names none itself: with other capitals, without its
  /// *should*, or for the host's questions with one slip.
  package static func meant(by pattern: String) -> String? {
    let lower = pattern.lowercased()
    let first = lower.prefix { $0 != "." }
    // With other first tokens, the pattern can only be meant for "host", misspelt.
    guard !pattern.hasSuffix("*"),
      first == "*" || (3...5).contains(first.count) || firstTokens.contains(first),
      !names.contains(where: { isMatch(pattern, $0) })
    else { return nil }
    let isQuestion = NameSyntax.hasVerb(behind: "should", in: pattern.utf8Bytes)
    if first == "host" {
      let last = NameSyntax.split(lower).last
      if let meant = otherWords[String(isQuestion ? last.dropFirst("should".count) : last)] { return meant }
    }
    for name in names {
      let (space, last) = NameSyntax.split(name.lowercased())
      let isMeant =
        isMatch(lower, "\(space)\(last)") || isMatch(lower, "\(space)\(last.dropFirst("should".count))")
        || isQuestion && space == "host." && Spelling.distance(from: lower, to: "\(space)\(last)") == 1
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

  private static func isMatch(_ pattern: String, _ name: String) -> Bool {
    do throws(WireError) {
      return try Pattern(pattern).matches(name.utf8Bytes)
    } catch {
      return false
    }
  }
}
