// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

/// `observe --format`: a text with placeholders for the parts of a notification.
struct NotificationFormat: Sendable {
  private enum Field: String, CaseIterable {
    case time, name, object, userInfo, sender, pid, uid, process, unit, systemUnit, userUnit
  }

  private enum Part {
    case text(String)
    case field(Field)
    case member([String])
  }

  private let parts: [Part]
  private let readsMembers: Bool

  /// - Throws: for an unknown placeholder, and for a brace that is neither doubled nor one of a pair.
  init(_ text: String) throws(CommandError) {
    var parts: [Part] = []
    var literal = ""
    var rest = text[...]
    while let character = rest.popFirst() {
      if character != "{" && character != "}" {
        literal.append(character)
      } else if rest.first == character {
        rest.removeFirst()
        literal.append(character)
      } else if character == "{", let end = rest.firstIndex(of: "}") {
        parts += [.text(literal), try Self.placeholder(rest[..<end])]
        literal = ""
        rest = rest[rest.index(after: end)...]
      } else {
        throw .usage("--format: a brace is written {{ or }}, if it belongs to no placeholder")
      }
    }
    self.parts = parts + [.text(literal)]
    readsMembers = parts.contains { if case .member = $0 { true } else { false } }
  }

  private static func placeholder(_ text: Substring) throws(CommandError) -> Part {
    if let field = Field(rawValue: String(text)) { return .field(field) }
    let names = text.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
    if names.count > 1, names[0] == Field.userInfo.rawValue, !names.contains("") {
      return .member(Array(names.dropFirst()))
    }
    let known = Field.allCases.map(\.rawValue)
    let hint = Spelling.hint(for: String(text), among: known) { "{\($0)}" }
    throw .usage(
      "--format: unknown placeholder {\(String(text).terminalSafe)}\(hint); there are "
        + known.map { "{\($0)}" }.joined(separator: ", ") + " and, for a member of JSON, {userInfo.KEY}")
  }

  /// The notification in this format, without a line feed. What comes from its poster is escaped.
  ///
  /// - Parameter time: of its arrival, in microseconds since 1970.
  func line(of notification: Notification, at time: UInt64) -> String {
    let root = readsMembers ? notification.userInfo.jsonRoot : nil
    return parts.reduce(into: "") { line, part in
      switch part {
      case .text(let text): line += text
      case .field(let field): line += Self.text(of: field, notification, time)
      case .member(let names):
        let member = names.reduce(root) { node, name in node?[name] }
        line += member.map { $0.string?.terminalSafe ?? $0.copy.compact } ?? ""
      }
    }
  }

  private static func text(of field: Field, _ notification: Notification, _ time: UInt64) -> String {
    let poster = notification.poster
    return switch field {
    case .time: timeOfDay(microsecondsSince1970: time)
    case .name: notification.name.terminalSafe
    case .object: notification.object.terminalSafe
    case .userInfo: notification.userInfo.line
    case .sender: notification.sender ?? "bus"
    case .pid: poster?.pid.map { String($0) } ?? ""
    case .uid: poster?.uid.map { String($0) } ?? ""
    case .process: poster?.process.terminalSafe ?? ""
    case .unit: poster?.unit.terminalSafe ?? ""
    case .systemUnit: poster?.units.system.terminalSafe ?? ""
    case .userUnit: poster?.units.user.terminalSafe ?? ""
    }
  }
}
