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
  /// - Throws: if the name is already one of these, or if one of these would be too long.
  init(_ action: String) throws(CommandError) {
    if let verb = Self.action(of: action) {
      throw .usage(
        "\"\(action.terminalSafe)\" is a message about an action: did you mean \(verb.terminalSafe)?")
    }
    self.action = action
    let (space, verb) = Self.split(action)
    let capitalized = verb.prefix(1).uppercased() + verb.dropFirst()
    should = "\(space)should\(capitalized)"
    will = "\(space)will\(capitalized)"
    did = "\(space)did\(capitalized)"
    didFailTo = "\(space)didFailTo\(capitalized)"
    guard action.utf8.count <= Self.lengthMax else {
      throw .usage(
        "\"\(action.terminalSafe)\" is too long: the name of an action has at most \(Self.lengthMax) bytes")
    }
  }

  /// The names of the action that a name is meant for: the name of the action itself, or of a message about it.
  ///
  /// - Throws: if one of them would be too long.
  init(meantBy name: String) throws(CommandError) { try self.init(Self.action(of: name) ?? name) }

  /// Whether the last token of a name, which must be valid, is one of the words before a verb, without a verb.
  static func lacksVerb(_ name: String) -> Bool { prefixes.contains(String(split(name).last)) }

  /// Whether delegates are asked under this name, which must be valid, whether an action may happen.
  static func isQuestion(_ name: String) -> Bool { NameSyntax.hasVerb(behind: "should", in: name.utf8Bytes) }

  /// The action that a message is about: `window.close` for `window.shouldClose`; nil if it is about none.
  private static func action(of message: String) -> String? {
    guard let prefix = prefixes.first(where: { NameSyntax.hasVerb(behind: $0, in: message.utf8Bytes) })
    else { return nil }
    let (space, last) = split(message)
    let verb = last.dropFirst(prefix.count)
    // Two capitals begin an acronym.
    if verb.dropFirst().first?.isUppercase == true { return "\(space)\(verb)" }
    return "\(space)\(verb.prefix(1).lowercased())\(verb.dropFirst())"
  }

  /// The last token, and what precedes it.
  private static func split(_ name: String) -> (space: Substring, last: Substring) {
    let start = name.lastIndex(of: ".").map { name.index(after: $0) } ?? name.startIndex
    return (name[..<start], name[start...])
  }
}
