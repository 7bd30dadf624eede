// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

package struct PolicyLine: Equatable, Sendable {
  package enum Effect: Sendable {
    case allow
    case deny
  }

  package struct Origin: Equatable, Sendable, CustomStringConvertible {
    package var file: String
    /// The number of the line in the file, counted from 1.
    package var number: Int

    package init(file: String, number: Int) { (self.file, self.number) = (file, number) }

    package var description: String { "\(file):\(number)" }
  }

  package var effect: Effect
  package var actions: ActionSet
  /// The line applies to a name that matches at least one of these templates.
  package var names: [NameTemplate]
  /// nil if the line applies to all objects, and to requests without an object.
  package var object: ObjectTemplate?
  /// The longest hold that the line allows; nil for any.
  package var holdMax: TimeSpan?
  /// The line applies to a subject that meets all these conditions.
  package var who: [Condition]
  package var whoTexts: [String]
  package var origin: Origin
  /// The text of the line, without its comment.
  package var text: String

  /// The line with ids instead of the names of users and groups. nil if the host lacks one of the names.
  package var resolvedText: String? {
    let who = who.compactMap(\.text)
    guard who.count == self.who.count else { return nil }
    let actions = Action.allCases.filter { self.actions.contains($0) }.map(\.name)
    var words = [effect == .allow ? "allow" : "deny", actions.joined(separator: ",")] + names.map(\.text)
    if let object { words.append("object:\(object.text)") }
    if let holdMax { words.append("max=\(holdMax.text)") }
    return (words + [who.joined(separator: ",")]).joined(separator: " ")
  }

  func applies(to subject: Subject) -> Bool { who.allSatisfy { $0.isMet(by: subject, for: effect) } }

  /// True if the line has a `%U`. Its patterns then differ from user to user.
  package var isTemplate: Bool {
    names.contains { $0.pattern == nil } || object.map { $0.pattern == nil } ?? false
  }

  func bound(to user: UInt32, as index: Int) -> BoundLine {
    BoundLine(
      index: index, effect: effect, actions: actions, names: names.map { $0.pattern(for: user) },
      object: object?.pattern(for: user), holdMax: holdMax)
  }
}

/// A pattern for names. In the pattern, `%U` is a placeholder for the user's id.
package struct NameTemplate: Equatable, Sendable {
  package let text: String
  let pattern: Pattern?

  package init(_ text: String) throws(WireError) {
    self.text = text
    // `.max` is the longest id. A pattern that is valid with it is valid with every id.
    let example = try Pattern(text.with(user: .max))
    pattern = text.hasUser ? nil : example
  }

  func pattern(for user: UInt32) -> Pattern {
    if let pattern { return pattern }
    do throws(WireError) {
      return try Pattern(text.with(user: user))
    } catch {
      preconditionFailure("\(text) was a pattern with another id")
    }
  }
}

package struct ObjectTemplate: Equatable, Sendable {
  package let text: String
  let pattern: ObjectPattern?

  package init?(_ text: String) {
    guard let example = ObjectPattern(text.with(user: .max)) else { return nil }
    self.text = text
    pattern = text.hasUser ? nil : example
  }

  func pattern(for user: UInt32) -> ObjectPattern {
    guard let pattern = pattern ?? ObjectPattern(text.with(user: user)) else {
      preconditionFailure("\(text) was a pattern with another id")
    }
    return pattern
  }
}

extension String {
  fileprivate var hasUser: Bool { firstRange(ofUser: self[...]) != nil }

  fileprivate func with(user: UInt32) -> String {
    var result = ""
    var rest = self[...]
    while let range = firstRange(ofUser: rest) {
      result += rest[..<range.lowerBound] + String(user)
      rest = rest[range.upperBound...]
    }
    return result + rest
  }

  private func firstRange(ofUser text: Substring) -> Range<Index>? {
    guard let start = text.utf8.firstIndex(of: UInt8(ascii: "%")) else { return nil }
    let next = text.utf8.index(after: start)
    guard next < text.endIndex, text.utf8[next] == UInt8(ascii: "U") else {
      return next < text.endIndex ? firstRange(ofUser: text[next...]) : nil
    }
    return start..<text.utf8.index(after: next)
  }
}

package struct BoundLine: Sendable {
  /// The index of the line in the policy.
  package let index: Int
  package let effect: PolicyLine.Effect
  package let actions: ActionSet
  package let names: [Pattern]
  package let object: ObjectPattern?
  package let holdMax: TimeSpan?

  func contains(_ request: Request) -> Bool {
    guard names.contains(where: { $0.contains(request.pattern) }) else { return false }
    guard let object else { return true }
    return request.object.map { !$0.isEmpty && object.matches($0) } ?? false
  }

  func hasNames(of request: Request) -> Bool {
    names.contains { request.isSatisfiedByPart ? $0.overlaps(request.pattern) : $0.contains(request.pattern) }
  }

  package func overlaps(_ request: Request) -> Bool {
    guard names.contains(where: { $0.overlaps(request.pattern) }) else { return false }
    guard let object, let other = request.object else { return true }
    return !other.isEmpty && object.matches(other)
  }
}
