// SPDX-License-Identifier: Apache-2.0

/// The names of one action: for `window.close`, these are `window.shouldClose` and so on.
struct ActionNames: Equatable, Sendable {
  let should: String
  let will: String
  let did: String
  let didFailTo: String

  /// - Parameter action: a name whose last token is the verb.
  /// - Throws: if the name is already one of these, or if one of these would be too long.
  init(_ action: String) throws(CommandError) {
    if let verb = Self.action(of: action) {
      throw .usage(
        "\"\(action.terminalSafe)\" is a message about an action: did you mean \(verb.terminalSafe)?")
    }
    let (space, verb) = Self.split(action)
    let capitalized = verb.prefix(1).uppercased() + verb.dropFirst()
    should = "\(space)should\(capitalized)"
    will = "\(space)will\(capitalized)"
    did = "\(space)did\(capitalized)"
    didFailTo = "\(space)didFailTo\(capitalized)"
    _ = try Invocation.checkedName(didFailTo)
  }

  /// Whether delegates are asked under this name whether an action may happen.
  static func isQuestion(_ name: String) -> Bool { verb(behind: "should", in: split(name).last) != nil }

  /// The action that a message is about: `window.close` for `window.shouldClose`; nil if it is about none.
  private static func action(of message: String) -> String? {
    let (space, last) = split(message)
    for prefix in ["should", "will", "didFailTo", "did"] {
      if let verb = verb(behind: prefix, in: last) { return "\(space)\(verb)" }
    }
    return nil
  }

  /// The last token, and what precedes it.
  private static func split(_ name: String) -> (space: Substring, last: Substring) {
    let start = name.lastIndex(of: ".").map { name.index(after: $0) } ?? name.startIndex
    return (name[..<start], name[start...])
  }

  private static func verb(behind prefix: String, in token: Substring) -> String? {
    guard token.hasPrefix(prefix), let first = token.dropFirst(prefix.count).first, first.isUppercase else {
      return nil
    }
    let rest = token.dropFirst(prefix.count + 1)
    return (rest.first?.isUppercase == true ? String(first) : first.lowercased()) + rest
  }
}
