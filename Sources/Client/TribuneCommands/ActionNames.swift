// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The names of one action: for `window.close`, these are that, `window.shouldClose` and so on.
struct ActionNames: Equatable, Sendable {
  let action: String
  let should: String
  let will: String
  let did: String
  let didFailTo: String

  /// The words before the verb in the name of a message about an action.
  private static let prefixes = ["should", "may", "will", "didFailTo", "did"]
  /// The verb takes the longest of the words before it.
  private static let lengthMax = WireLimits.nameLength - "didFailTo".utf8.count

  /// - Parameter action: a name whose last token is the verb, or a pattern whose last token is one.
  /// - Throws: if the name is already one of these, if it is a well-known one misspelt, or if one of these would be too
  ///   long.
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

  /// Whether a name or pattern, which must be valid, is no question, and only queries for values can be about it.
  static func isValue(_ pattern: String) -> Bool {
    !pattern.hasSuffix("*") && !NameSyntax.hasVerb(behind: "should", in: pattern.utf8Bytes)
      && !NameSyntax.isWillOrDid(pattern.utf8Bytes)
  }

  /// Requires that delegates can be asked under a name or pattern, which must be valid.
  ///
  /// - Parameters:
  ///   - takesValues: whether queries for values count, whose names may be any.
  ///   - offersAction: whether --action= can be given instead.
  static func requireQuestion(
    _ pattern: String, orValue takesValues: Bool = false, offeringAction offersAction: Bool = false
  ) throws(CommandError) {
    let known = WellKnownQuestions.meant(by: pattern)
    let isQuestion = NameSyntax.hasVerb(behind: "should", in: pattern.utf8Bytes)
    let isMessage = isQuestion || action(of: pattern) != nil
    if known == nil, pattern.hasSuffix("*") || isQuestion || takesValues && !isMessage { return }
    let fault = isQuestion ? "misspelt" : "not the name of a question, which ends in should and a verb"
    var hint = ""
    let meant: String? = if let known { known } else { try question(meantBy: pattern) }
    if let meant {
      hint = ": did you mean \(meant)"
      // An action is one name.
      if offersAction, !meant.contains("*"), let action = action(of: meant) {
        hint += ", or --action=\(action)"
      }
      hint += "?"
    }
    throw .usage("\"\(pattern)\" is \(fault)\(hint)")
  }

  /// Requires that a delegate can be asked under its names or patterns, which must be valid; beside these, it can have
  /// those of the *will* and *did* of actions.
  static func requireQuestions(_ patterns: [String], orValues takesValues: Bool) throws(CommandError) {
    let others = patterns.filter { !NameSyntax.isWillOrDid($0.utf8Bytes) }
    // Of a delegate that has none, the first says what is missing.
    for pattern in others.isEmpty ? patterns : others {
      try requireQuestion(pattern, orValue: takesValues)
    }
  }

  /// The question about the action that a name is meant for: the name of the action itself, or of a message about it; nil
  /// if it lacks a verb.
  private static func question(meantBy name: String) throws(CommandError) -> String? {
    let (space, last) = NameSyntax.split(name)
    if prefixes.contains(String(last)) { return nil }
    let misspelt = last.hasPrefix("should") ? "\(space)\(last.dropFirst("should".count))" : name
    return try ActionNames(action(of: name) ?? misspelt).should
  }

  /// The action that a message is about: `window.close` for `window.shouldClose`; nil if it is about none.
  static func action(of message: String) -> String? {
    guard let prefix = prefixes.first(where: { NameSyntax.hasVerb(behind: $0, in: message.utf8Bytes) })
    else { return nil }
    let (space, last) = NameSyntax.split(message)
    let verb = last.dropFirst(prefix.count)
    // Two capitals begin an acronym.
    if verb.dropFirst().first?.isUppercase == true { return "\(space)\(verb)" }
    return "\(space)\(verb.prefix(1).lowercased())\(verb.dropFirst())"
  }
}
