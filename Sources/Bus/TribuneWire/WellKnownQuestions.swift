// SPDX-License-Identifier: Apache-2.0

/// The questions that docs/NAMES.md lists.
package enum WellKnownQuestions {
  package static let names = [
    "host.shouldReboot", "host.shouldKexec", "host.shouldSoftReboot", "host.shouldPowerOff",
    "host.shouldHalt", "host.shouldSuspend", "host.shouldHibernate", "host.shouldHybridSleep",
    "host.shouldSuspendThenHibernate", "unit.shouldStart", "unit.shouldRestart", "packages.shouldChange",
    "backup.shouldPrune", "archive.shouldPrune", "disk.shouldUnmount", "cluster.shouldReboot",
    "cluster.fleetlock.shouldReboot", "window.shouldClose", "window.shouldMove", "window.shouldZoom",
    "application.shouldOpenURL", "scrollView.shouldScrollToTop",
  ]

  /// Other words for actions of the host and of apt, each with the question that it means.
  private static let otherWords = [
    "host.shutdown": "host.shouldPowerOff", "host.restart": "host.shouldReboot",
    "host.sleep": "host.shouldSuspend", "packages.upgrade": "packages.shouldChange",
    "packages.update": "packages.shouldChange", "packages.install": "packages.shouldChange",
    "packages.remove": "packages.shouldChange",
  ]
  private static let firstTokens = Set(names.map { String($0.prefix { $0 != "." }) })
  /// The first tokens of questions that system programs or Tribune's programs ask. Users choose the first
  /// tokens of all other questions, so `backups` can be as right as `backup`.
  private static let ofTheHost = ["host", "unit", "packages", "cluster"]
  /// Each name as it is, in lower case (`question`), and in lower case without *should* (`action`).
  private static let spellings = names.map { name in
    let (space, last) = NameSyntax.split(name.lowercased())
    return (name: name, question: "\(space)\(last)", action: "\(space)\(last.dropFirst("should".count))")
  }
  private static let patterns = names.map { Pattern(trusted: $0) }

  /// The value query that tribune-logind answers. The value describes how the host enforces vetoes.
  package static let enforcement = "host.enforcement"

  package static func hostNames(matching pattern: String) -> [String] {
    names(matching: pattern).filter { $0.hasPrefix("host.") }
  }

  /// True for a valid name or pattern whose questions are asked only on the system's bus. These are names and
  /// patterns below `host.`, `packages.` and `cluster.`, and patterns such as `*.shouldReboot`.
  package static func areOnlyAskedOnSystemBus(_ pattern: String) -> Bool {
    func isOnSystemBus(_ name: String) -> Bool {
      ["host.", "packages.", "cluster."].contains { name.hasPrefix($0) }
    }
    return isOnSystemBus(pattern)
      || pattern.hasPrefix("*.") && !pattern.hasSuffix("*")
        && names(matching: pattern).contains(where: isOnSystemBus)
  }

  private static func names(matching pattern: String) -> [String] {
    guard let pattern = parsed(pattern) else { return [] }
    return names.filter { pattern.matches($0.utf8Bytes) }
  }

  /// The question or pattern that a valid pattern probably misspells. nil if the pattern can be right.
  ///
  /// A veto under a misspelt pattern would have no effect. A misspelt pattern differs from a well-known
  /// question in capitals, lacks *should*, is one of `otherWords`, or has a star in the wrong place. If the
  /// pattern's first token is or resembles one in `ofTheHost`, one wrong letter is also a misspelling.
  package static func meant(by pattern: String) -> String? {
    if pattern == "*" { return "**" }
    let first = String(pattern.prefix { $0 != "." })
    guard pattern.hasSuffix("*") else {
      return question(meantBy: pattern, first: first) ?? wildcard(meantBy: pattern, first: first)
    }
    let stem = pattern.reversed().drop { $0 == "*" || $0 == "." }.reversed()
    return tail(meantBy: String(stem)) ?? wildcard(meantBy: pattern, first: first)
  }

  /// True if a valid name or pattern can match a question, and does not misspell a well-known question.
  package static func canBeAsked(_ pattern: String) -> Bool {
    NameSyntax.canMatchQuestion(pattern) && meant(by: pattern) == nil
  }

  /// The end of an error message about a name that is never asked.
  package static func hint(for name: String) -> String {
    (meant(by: name) ?? NameSyntax.question(meantBy: name)).map { "did you mean \($0)?" }
      ?? "a question ends in should and a verb"
  }

  /// The question or pattern that a pattern with a star at its end probably means. `stem` is the text before
  /// this star. A star behind a verb is a mistake, because a question ends with its verb.
  private static func tail(meantBy stem: String) -> String? {
    let (space, last) = NameSyntax.split(stem)
    if NameSyntax.hasVerb(behind: "should", in: stem.utf8Bytes) { return stem }
    if let meant = question(meantBy: stem, first: String(stem.prefix { $0 != "." })) { return meant }
    // A stem of one token can be right: it names a kind of thing, even if it begins like a notification's
    // last token (`did-resolver`).
    if space.isEmpty { return nil }
    if ["should", "may", "will", "didFailTo", "did"].contains(last) { return "\(space)*" }
    return NameSyntax.question(aboutMessage: stem)
  }

  private static func wildcard(meantBy pattern: String, first: String) -> String? {
    guard pattern.contains("*"), !firstTokens.contains(first), let meant = firstToken(meantBy: first)
    else { return nil }
    return meant + pattern.dropFirst(first.count)
  }

  private static func firstToken(meantBy token: String) -> String? {
    let lower = token.lowercased()
    if let known = firstTokens.first(where: { $0.lowercased() == lower }) { return known }
    return ofTheHost.first { known in
      guard Pattern(trusted: known).name(meantBy: token.utf8Bytes) != nil else { return false }
      // A token that begins with a known token must be its plural. Many words of four letters, such as host
      // and post, differ in one letter. So for a known token of four letters, only swapped letters count.
      return lower.hasPrefix(known)
        ? lower == "\(known)s" : known.count > 4 || lower.utf8.sorted() == known.utf8.sorted()
    }
  }

  private static func question(meantBy pattern: String, first: String) -> String? {
    let lower = pattern.lowercased()
    // The bus calls this method for each delegate and hold. Most patterns have a first token that resembles
    // no well-known one, so the guard ends the call.
    let isNearHost = (3...5).contains(first.count) && Spelling.distance(from: first, to: "host") <= 1
    let space = isNearHost ? "host" : firstToken(meantBy: first)
    guard first == "*" || space != nil, let exact = parsed(pattern), let folded = parsed(lower),
      !patterns.contains(where: { exact.matches($0.text.utf8Bytes) })
    else { return nil }
    let isQuestion = NameSyntax.hasVerb(behind: "should", in: pattern.utf8Bytes)
    let parts = NameSyntax.split(lower)
    let action = isQuestion ? "\(parts.space)\(parts.last.dropFirst("should".count))" : lower
    if let meant = otherWords[action] { return meant }
    let isOfTheHost = isQuestion && space.map(ofTheHost.contains) == true
    for (name, question, action) in spellings {
      let isMeant =
        folded.matches(question.utf8Bytes) || folded.matches(action.utf8Bytes)
        || isOfTheHost && name.hasPrefix("\(space ?? "").")
          && Spelling.distance(from: lower, to: question) == 1
      if isMeant {
        return pattern.contains("*")
          ? "\(NameSyntax.split(pattern).space)\(NameSyntax.split(name).last)" : name
      }
    }
    return nil
  }

  /// The first token of `name`, if it is in `ofTheHost` or is `scope`. nil for all other names, and for names
  /// of one token.
  package static func space(ofTheHost name: String) -> String? {
    let first = String(name.prefix { $0 != "." })
    return first.utf8.count < name.utf8.count && (ofTheHost + ["scope"]).contains(first) ? first : nil
  }

  private static let questionsOfTheHost = Set(names.filter { space(ofTheHost: $0) != nil })

  /// True for the well-known questions that system programs or Tribune's programs ask.
  package static func isOfTheHost(_ name: String) -> Bool { questionsOfTheHost.contains(name) }

  /// The object that a question about a unit probably means by `object`. nil if `object` can be right.
  package static func object(meantBy object: String, for pattern: String) -> String? {
    guard !object.isEmpty, !object.hasPrefix("*"), pattern.hasPrefix("unit."), let pattern = parsed(pattern),
      unitQuestions.contains(where: { pattern.matches($0.utf8Bytes) })
    else { return nil }
    let last = String(object.split(separator: "/").last ?? "NAME")
    let isWhole = last.hasPrefix("*") || unitTypes.contains { last.hasSuffix(".\($0)") }
    let meant = "unit/\(last)\(isWhole ? "" : ".service")"
    return meant == object ? nil : meant
  }

  /// True for a well-known question about a unit. Must be fast: the bus calls this method for most queries.
  package static func isAboutUnit(_ name: RawSpan) -> Bool {
    for known in unitQuestions where known.utf8Bytes.isEqual(to: name) { return true }
    return false
  }

  private static let unitQuestions = names.filter { $0.hasPrefix("unit.") }
  /// The types of units from systemd.unit(5).
  private static let unitTypes = [
    "service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer", "slice", "scope",
  ]

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
