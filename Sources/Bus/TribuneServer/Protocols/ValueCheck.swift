// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
package import TribuneProtocols
package import TribuneWire

/// Checks userInfo against a method's parameters, and a delegate's value against the method's result.
nonisolated package struct ValueCheck {
  /// The deepest nesting of a value. A recursive type itself sets no limit.
  package static let depthMax = 128

  private let types: [String: ValueType]
  private var path: [Step] = []

  private enum Step {
    case member(String)
    case element(Int)
  }

  /// - Parameter payload: JSON; no bytes mean an empty object.
  package static func check(userInfo payload: RawSpan, for method: ProtocolMethod) throws(WireError) {
    try check(payload, method.declaration.parameters, of: method, "userInfo")
  }

  package static func check(value payload: RawSpan, of method: ProtocolMethod) throws(WireError) {
    try check(payload, method.declaration.result ?? [], of: method, "the value")
  }

  private static func check(
    _ payload: RawSpan, _ fields: [ValueType.Field], of method: ProtocolMethod, _ what: String
  ) throws(WireError) {
    var check = ValueCheck(types: method.types)
    if payload.byteCount == 0 {
      if let field = fields.first(where: { !$0.isNullable }) {
        throw check.misfit("\(check.name(of: field.name)) is missing")
      }
      return
    }
    let document: JSONDocument
    do throws(JSONText.SyntaxError) {
      document = try JSONDocument(payload)
    } catch {
      throw check.misfit("\(what) is not JSON that can be checked: \(error)")
    }
    guard document.root.kind == .object else {
      throw check.misfit("\(what) is \(document.root.kind.inWords), and has to be an object")
    }
    try check.checkMembers(of: document.root, fields)
  }

  private init(types: [String: ValueType]) { self.types = types }

  private mutating func check(_ value: JSONNode, _ type: ValueType) throws(WireError) {
    switch type {
    case .bool: try expect(.bool, value, type)
    case .int: try checkInteger(value)
    case .float: try expect(.number, value, type)
    case .string: try expect(.string, value, type)
    case .object: try expect(.object, value, type)
    case .array(let element):
      try expect(.array, value, type)
      for index in 0..<value.count {
        guard let next = value[index] else { preconditionFailure("an array has all of its elements") }
        try check(next, element, at: .element(index))
      }
    case .map(let member):
      try expect(.object, value, type)
      for (name, next) in value.members { try check(next, member, at: .member(name)) }
    case .nullable(let type): if value.kind != .null { try check(value, type) }
    case .structure(let fields):
      try expect(.object, value, type)
      try checkMembers(of: value, fields)
    case .enumeration(let values):
      try expect(.string, value, type)
      guard values.contains(where: { value.isString($0) }) else {
        throw misfit("\(here) is \(shown(value.string ?? "")), and has to be one of \(type)")
      }
    case .named(let name):
      guard let type = types[name] else { preconditionFailure("a linked protocol has all of its types") }
      try check(value, type)
    }
  }

  private mutating func check(_ value: JSONNode, _ type: ValueType, at step: Step) throws(WireError) {
    guard path.count < Self.depthMax else {
      throw misfit("\(here) is nested more than \(Self.depthMax) deep")
    }
    path.append(step)
    try check(value, type)
    path.removeLast()
  }

  private mutating func checkMembers(of object: JSONNode, _ fields: [ValueType.Field]) throws(WireError) {
    var found = 0
    for field in fields {
      if let member = object[field.name] {
        found += 1
        try check(member, field.type, at: .member(field.name))
      } else if !field.isNullable {
        throw misfit("\(name(of: field.name)) is missing")
      }
    }
    guard found < object.count else { return }
    for (name, _) in object.members where !fields.contains(where: { $0.name == name }) {
      throw misfit("\(self.name(of: name)) is not a field")
    }
  }

  private func checkInteger(_ value: JSONNode) throws(WireError) {
    try expect(.number, value, .int)
    guard value.isInteger else {
      throw misfit("\(here) \(value.hasFraction ? "has a fraction" : "is beyond 64 bits"), and has to be int")
    }
  }

  private func expect(_ kind: JSONNode.Kind, _ value: JSONNode, _ type: ValueType) throws(WireError) {
    guard value.kind == kind else {
      throw misfit("\(here) is \(value.kind.inWords), and has to be \(shown(type))")
    }
  }

  private func shown(_ type: ValueType) -> String {
    switch type {
    case .structure: "an object"
    case .array: "an array"
    case .map: "an object"
    default: type.description
    }
  }

  private func shown(_ text: String) -> String {
    "\"\(text.prefix(utf8Length: 40).escaped)\(text.utf8.count > 40 ? "…" : "")\""
  }

  private var here: String { Self.text(of: path) }

  private func name(of member: String) -> String { Self.text(of: path + [.member(member)]) }

  /// A path such as `items[3].name`.
  private static func text(of path: [Step]) -> String {
    var text = ""
    for step in path {
      switch step {
      case .member(let name): text += (text.isEmpty ? "" : ".") + name.escaped
      case .element(let index): text += "[\(index)]"
      }
    }
    return text
  }

  private func misfit(_ message: String) -> WireError {
    WireError(.invalidParameter, message.prefix(utf8Length: WireLimits.reasonLength))
  }
}

nonisolated extension JSONNode.Kind {
  fileprivate var inWords: String {
    switch self {
    case .null: "null"
    case .bool: "a bool"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}
