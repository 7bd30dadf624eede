// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The names of an action, such as `window.close`, and of its messages, such as `window.shouldClose`.
struct ActionNames: Equatable, Sendable {
  let action: String
  let should: String
  let will: String
  let did: String
  let didFailTo: String
  private static let prefixes = ["should", "may", "will", "didFailTo", "did"]
  private static let lengthMax = WireLimits.nameLength - "didFailTo".utf8.count

  init(_ action: String) throws(CommandError) {
    if let verb = Self.action(of: action) {
      throw .usage(
        "\"\(action.terminalSafe)\" is a message about an action: did you mean \(verb.terminalSafe)?")
    }
    self.action = action
    let (space, verb) = NameSyntax.split(action)
    let capitalized = verb.prefix(1).uppercased() + verb.dropFirst()
    should = "\(space)should\(capitalized)"
    will = "\(space)will\(capitalized)"
    did = "\(space)did\(capitalized)"
    didFailTo = "\(space)didFailTo\(capitalized)"
    guard action.utf8.count <= Self.lengthMax else {
      throw .usage(
        "\"\(action.terminalSafe)\" is too long: the name of an action has at most \(Self.lengthMax) bytes")
    }
    if let known = WellKnownQuestions.meant(by: should) {
      throw .usage("\"\(action)\" is misspelt: did you mean \(Self.action(of: known) ?? known)?")
    }
  }

  /// True if `pattern`, which must be a valid name or pattern, matches only names of value queries.
  static func isValue(_ pattern: String) -> Bool {
    !NameSyntax.canMatchQuestion(pattern) && !NameSyntax.isWillOrDid(pattern.utf8Bytes)
  }

  static func requireQuestion(
    _ pattern: String, orValue takesValues: Bool = false, offeringAction offersAction: Bool = false
  ) throws(CommandError) {
    let known = WellKnownQuestions.meant(by: pattern)
    let isQuestion = NameSyntax.hasVerb(behind: "should", in: pattern.utf8Bytes)
    let isMessage = isQuestion || action(of: pattern) != nil
    if known == nil, NameSyntax.canMatchQuestion(pattern) || takesValues && !isMessage { return }
    let fault =
      isQuestion || pattern.hasSuffix("*")
      ? "misspelt" : "not the name of a question, which ends in should and a verb"
    var hint = ""
    if let meant = known ?? NameSyntax.question(meantBy: pattern) {
      hint = ": did you mean \(meant)"
      if offersAction, !meant.contains("*"), let action = action(of: meant) {
        hint += ", or --action=\(action)"
      }
      hint += "?"
    }
    throw .usage("\"\(pattern)\" is \(fault)\(hint)")
  }

  static func question(meantBy pattern: String) -> String? {
    let pattern = pattern.split(separator: ".").joined(separator: ".")
    return WellKnownQuestions.meant(by: pattern)
      ?? (NameSyntax.canMatchQuestion(pattern) ? pattern : NameSyntax.question(meantBy: pattern))
  }

  /// Throws unless each pattern matches questions or, with `orValues`, value queries. Beside such a pattern,
  /// also permits patterns of *will* and *did* messages. All patterns must have valid syntax.
  static func requireQuestions(_ patterns: [String], orValues takesValues: Bool) throws(CommandError) {
    let others = patterns.filter { !NameSyntax.isWillOrDid($0.utf8Bytes) }
    for pattern in others.isEmpty ? patterns : others {
      try requireQuestion(pattern, orValue: takesValues)
    }
  }

  static func action(of message: String) -> String? {
    guard let prefix = prefixes.first(where: { NameSyntax.hasVerb(behind: $0, in: message.utf8Bytes) })
    else { return nil }
    let (space, last) = NameSyntax.split(message)
    let verb = last.dropFirst(prefix.count)
    // A verb that begins with two capitals is an acronym, and keeps its capitals.
    if verb.dropFirst().first?.isUppercase == true { return "\(space)\(verb)" }
    return "\(space)\(verb.prefix(1).lowercased())\(verb.dropFirst())"
  }
}
