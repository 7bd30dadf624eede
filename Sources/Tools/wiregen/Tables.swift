// SPDX-License-Identifier: Apache-2.0

/// Fills the tables of a Markdown document. The table of a frame's fields goes below a heading such as `###
/// ask (12)`, and the table of a record's fields below a line `<!-- NAME -->`.
struct Tables {
  private let description: Description
  private var listed: [String: String] = [:]

  init(_ description: Description) { self.description = description }

  mutating func filled(_ document: String) throws(DescriptionError) -> String {
    var lines: [Substring] = []
    var rest = document.split(separator: "\n", omittingEmptySubsequences: false)[...]
    var number = 0
    var pending: [String]?
    while let line = rest.popFirst() {
      number += 1
      if line.hasPrefix("|"), let table = pending {
        lines += table.map { $0[...] }
        while rest.first?.hasPrefix("|") == true { rest.removeFirst() }
        pending = nil
        continue
      }
      lines.append(line)
      if line.hasPrefix("#") { pending = try table(below: line, number) }
      if line.hasPrefix("<!-- "), line.hasSuffix(" -->") {
        let name = String(line.dropFirst(5).dropLast(4))
        if !name.hasPrefix("SPDX") { pending = try table(named: name, number) }
      }
    }
    return lines.joined(separator: "\n")
  }

  private mutating func table(below heading: Substring, _ line: Int) throws(DescriptionError) -> [String]? {
    let words = heading.split(separator: " ")
    guard words.count == 3, words[0] == "###", words[2].hasPrefix("("), words[2].hasSuffix(")"),
      let number = Int(words[2].dropFirst().dropLast())
    else { return nil }
    guard let frame = description.frames.first(where: { $0.number == number }), frame.word == words[1] else {
      throw DescriptionError(
        line: line, message: "no frame is called \(words[1]) and has the number \(number)")
    }
    return frame.fields.isEmpty ? nil : table(of: frame.fields, in: frame.word)
  }

  private mutating func table(named name: String, _ line: Int) throws(DescriptionError) -> [String] {
    switch (name, description.declaration(named: name)) {
    case ("errors", _): return errors
    case (_, .record(let record)): return table(of: record.fields, in: record.name)
    case (_, .frame(let frame)): return table(of: frame.fields, in: frame.word)
    default: throw DescriptionError(line: line, message: "no record is called \(name)")
    }
  }

  // MARK: Tables

  private var errors: [String] {
    guard case .enumeration(let errors) = description.declaration(named: "ErrorCode") else {
      preconditionFailure("there are error codes")
    }
    return ["| code | | |", "|---|---|---|"]
      + errors.members.map { row([String($0.value), "`\($0.name)`", $0.documentation]) }
  }

  private mutating func table(of fields: [Field], in owner: String) -> [String] {
    var rows = ["| field | type | |", "|---|---|---|"]
    var fields = fields[...]
    while let field = fields.popFirst() {
      var names = [field.name]
      while let next = fields.first, next.continuesLine {
        names.append(next.name)
        fields.removeFirst()
      }
      let type = typeText(field.type) + (names.count > 1 ? " each" : "")
      rows.append(row([names.joined(separator: ", "), type, text(of: field, in: owner)]))
    }
    return rows
  }

  private func row(_ cells: [String]) -> String {
    "|" + cells.map { $0.isEmpty ? " |" : " \($0) |" }.joined()
  }

  private func typeText(_ type: FieldType) -> String {
    switch type {
    case .integer(let type): type.rawValue
    case .bool: "bool"
    case .text: "text"
    case .bytes: "u32, then so many bytes"
    case .open: "u16"
    case .optional(let name): "bool, then \(recordName(name)) if it is true"
    case .texts: "u16, then so many texts"
    case .integers: "u32, then so many u32"
    case .records: "u32, then so many records"
    case .named(let name):
      switch description.declaration(named: name) {
      case .id: "u64"
      case .enumeration: "enum"
      case .bits: "u8"
      default: recordName(name)
      }
    }
  }

  private func recordName(_ name: String) -> String {
    ["PeerIdentity": "peer", "DelegateIdentity": "delegate"][name] ?? name
  }

  private mutating func text(of field: Field, in owner: String) -> String {
    var parts: [String] = []
    if case .named(let name) = field.type {
      switch description.declaration(named: name) {
      case .enumeration(let enumeration):
        if let place = listed[name] {
          if field.documentation.isEmpty { parts.append("as in `\(place)`") }
        } else {
          listed[name] = owner
          parts.append(enumeration.members.map { "\($0.value) \($0.name)" }.joined(separator: ", "))
        }
      case .bits(let bits):
        let members = bits.members.map { "\($0.value) \($0.name)" }.joined(separator: ", ")
        parts.append("bits: \(members)\(bits.isStrict ? "; others are `invalidValue`" : "")")
      default: break
      }
    }
    if !field.documentation.isEmpty { parts.append(field.documentation) }
    var text = parts.joined(separator: ": ")
    if let condition = field.condition {
      text = join(text, "Only if \(condition.field) is \(condition.word)")
    }
    return text
  }

  private func join(_ text: String, _ more: String) -> String {
    if text.isEmpty { return more }
    return text.hasSuffix(".") ? "\(text) \(more)" : "\(text). \(more)"
  }
}
