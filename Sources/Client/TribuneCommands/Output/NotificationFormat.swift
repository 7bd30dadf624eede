// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

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

  init(_ text: String) throws(CommandError) {
    var parts: [Part] = []
    for part in try Template(text, of: .format).parts {
      switch part {
      case .text(let text): parts.append(.text(text))
      case .path(let path): parts.append(try Self.placeholder(path))
      }
    }
    self.parts = parts
    readsMembers = parts.contains { if case .member = $0 { true } else { false } }
  }

  static func given(
    in invocation: Invocation, beside others: [Option] = []
  ) throws(CommandError) -> NotificationFormat? {
    guard let text = invocation.text(.format) else { return nil }
    try invocation.refuse(others + [.json, .shortJSON, .output], beside: .format)
    return try NotificationFormat(text)
  }

  private static func placeholder(_ path: [String]) throws(CommandError) -> Part {
    if path.count == 1, let field = Field(rawValue: path[0]) { return .field(field) }
    if path.count > 1, path[0] == Field.userInfo.rawValue { return .member(Array(path.dropFirst())) }
    let known = Field.allCases.map(\.rawValue)
    let text = path.joined(separator: ".")
    let hint = Spelling.hint(for: text, among: known) { "{\($0)}" }
    throw .usage(
      "--format: unknown placeholder {\(text.terminalSafe)}\(hint); there are "
        + known.map { "{\($0)}" }.joined(separator: ", ") + " and, for a member of JSON, {userInfo.KEY}")
  }

  /// Returns the line without a line feed. Control characters in the poster's texts are escaped.
  ///
  /// - Parameter time: the time of arrival, in microseconds since 1970.
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
