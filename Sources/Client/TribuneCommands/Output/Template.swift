// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
import TribuneWire

/// The value of --format or --output: a text with placeholders, such as `{name} {userInfo.level}`. A doubled
/// brace stands for one brace.
struct Template: Sendable {
  enum Part: Equatable, Sendable {
    case text(String)
    case path([String])
  }

  let parts: [Part]

  init(_ text: String, of option: Option) throws(CommandError) {
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
        let path = rest[..<end].split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
        if path.contains("") {
          throw .usage("\(option.spelling): {\(String(rest[..<end]).terminalSafe)} lacks a name")
        }
        parts += [.text(literal), .path(path)]
        literal = ""
        rest = rest[rest.index(after: end)...]
      } else {
        throw .usage("\(option.spelling): write a brace as {{ or }} outside a placeholder")
      }
    }
    self.parts = parts + [.text(literal)]
  }

  func line(of value: JSONValue) -> String {
    parts.map { part in
      switch part {
      case .text(let text): text
      case .path(let path): path.reduce(value) { value, name in value?.member(name) }?.shown ?? ""
      }
    }.joined()
  }
}

extension JSONValue {
  fileprivate func member(_ name: String) -> JSONValue? {
    switch whole {
    case .object(let members): members.first { $0.name == name }?.value
    case .array(let values): Int(name).flatMap { values.indices.contains($0) ? values[$0] : nil }
    default: nil
    }
  }

  fileprivate var shown: String {
    switch whole {
    case .null: ""
    case .string(let text): text.terminalSafe
    case let value: value.compact
    }
  }

  fileprivate var whole: JSONValue {
    guard case .text(let text) = self else { return self }
    do throws(JSONText.SyntaxError) {
      return try JSONDocument(text.bytes.rawBytes).root.copy
    } catch {
      return self
    }
  }

  /// The value as block YAML, without a final line feed. YAML allows texts that are quoted as in JSON.
  var yaml: String { yamlLines.joined(separator: "\n") }

  private var yamlLines: [String] {
    switch whole {
    case .object(let members) where !members.isEmpty:
      members.flatMap { name, value in
        let key = (Self.isPlainKey(name) ? name : JSONValue.string(name).compact) + ":"
        let lines = value.yamlLines
        return value.isBlock ? [key] + lines.map { "  " + $0 } : ["\(key) \(lines[0])"]
      }
    case .array(let values) where !values.isEmpty:
      values.flatMap { value in
        value.yamlLines.enumerated().map { ($0.offset == 0 ? "- " : "  ") + $0.element }
      }
    case let value: [value.compact]
    }
  }

  /// True if every reader of YAML reads the unquoted name as a text.
  private static func isPlainKey(_ name: String) -> Bool {
    !["y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(name.lowercased())
      && name.first?.isLetter == true && name.utf8.allSatisfy { $0 < 0x80 }
      && name.allSatisfy { $0.isLetter || $0.isNumber }
  }

  private var isBlock: Bool {
    switch whole {
    case .object(let members): !members.isEmpty
    case .array(let values): !values.isEmpty
    default: false
    }
  }
}
