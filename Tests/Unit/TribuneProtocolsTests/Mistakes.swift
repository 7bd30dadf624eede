// SPDX-License-Identifier: Apache-2.0

enum Mistakes {
  private static let protocolName = "a protocol's name (a letter, then letters, digits and _)"
  private static let typeName = "a type's name (an upper case letter, then letters and digits)"
  private static let fieldName = "a field's name (a letter, then letters and digits, with single _ between)"
  private static let value = "a value (a letter, then letters and digits, with single _ between)"
  private static let methodName = "a method's name (letters, digits, _ and -, with dots between)"
  private static let member = #""optional", "required", "type" or "}""#

  private static func misnamed(_ name: String, _ kind: String) -> String {
    #""\#(name)" is a \#(kind) method, but its last part does not begin with "\#(kind)" and an upper case letter"#
  }

  private static func ofTheHost(_ name: String) -> String {
    let space = name.prefix { $0 != "." }
    return #""\#(name)" is under "\#(space).", where a protocol would keep out delegates of any object"#
  }

  static let syntax: [(String, [String])] = [
    ("x", [#"1:1: found "x", expected "protocol""#]),
    ("}", [#"1:1: found "}", expected "protocol""#]),
    // Columns count characters, not bytes.
    ("\u{1B}[2J\u{202E}", [#"1:1: found "\u{1b}", expected "protocol""#]),
    (
      "protocol größe {} §",
      [#"1:10: found "größe", expected \#(protocolName)"#, #"1:19: found "§", expected "protocol""#]
    ),
    ("protocol", ["1:9: found the end, expected \(protocolName)"]),
    ("protocol 1A {}", [#"1:10: found "1A", expected \#(protocolName)"#]),
    ("protocol a.b {}", [#"1:10: found "a.b", expected \#(protocolName)"#]),
    ("protocol A", [#"1:11: found the end, expected ":" or "{""#]),
    ("protocol A B {}", [#"1:12: found "B", expected ":" or "{""#]),
    ("protocol A : {}", [#"1:14: found "{", expected \#(protocolName)"#]),
    ("protocol B {} protocol A : B B {}", [#"1:30: found "B", expected "," or "{""#]),
    ("protocol B {} protocol A : B, B {}", [#"1:31: "B" is named as a parent twice"#]),
    ("protocol A {", [#"1:13: found the end, expected a method, a type or "}""#]),
    ("protocol A {\n  # more to come\n", [#"3:1: found the end, expected a method, a type or "}""#]),
    ("protocol A { ; }", [#"1:14: found ";", expected \#(member)"#]),
    ("protocol A { should shouldA () }", [#"1:14: found "should", expected \#(member)"#]),
    (
      "protocol A { { optional should shouldA () } }",
      [#"1:14: found "{", expected \#(member)"#, #"1:45: found "}", expected "protocol""#]
    ),
    ("protocol A { optional a () }", [#"1:23: found "a", expected "should", "will", "did" or "value""#]),
    ("protocol A { optional should () }", [#"1:30: found "(", expected \#(methodName)"#]),
    ("protocol A { optional should a..b () }", [#"1:30: found "a..b", expected \#(methodName)"#]),
    ("protocol A { optional should ä () }", [#"1:30: found "ä", expected \#(methodName)"#]),
    ("protocol A { optional should shouldA }", [#"1:38: found "}", expected "(""#]),
    (
      "protocol A { optional should shouldA (",
      [
        "1:39: found the end, expected \(fieldName)",
        #"1:39: found the end, expected a method, a type or "}""#,
      ]
    ),
    ("protocol A { optional should shouldA (b) }", [#"1:40: found ")", expected ":" and the type of "b""#]),
    (
      "protocol A { optional should shouldA (b, c) }", [#"1:40: found ",", expected ":" and the type of "b""#]
    ),
    ("protocol A { optional should shouldA (b:) }", [#"1:41: found ")", expected a type"#]),
    ("protocol A { optional should shouldA (b: int,) }", [#"1:46: found ")", expected \#(fieldName)"#]),
    ("protocol A { optional should shouldA (b: int c: int) }", [#"1:46: found "c", expected "," or ")""#]),
    ("protocol A { optional should shouldA (b: integer) }", [#"1:42: found "integer", expected a type"#]),
    ("protocol A { optional should shouldA (b: Foo_) }", [#"1:42: found "Foo_", expected a type"#]),
    (
      "protocol A { optional should shouldA (b: ??int) }",
      [#"1:43: found "?", expected a type, nullable once"#]
    ),
    (
      "protocol A { optional should shouldA (b: [int]int) }",
      [#"1:43: found "int", expected "]" or "string""#]
    ),
    ("protocol A { optional should shouldA (b: [string) }", [#"1:49: found ")", expected "]""#]),
    ("protocol A { optional should shouldA (b: []) }", [#"1:44: found ")", expected a type"#]),
    ("protocol A { optional should shouldA (b: (c, d: int)) }", [#"1:47: found ":", expected "," or ")""#]),
    (
      "protocol A { optional should shouldA (b: (c: int, d)) }",
      [#"1:52: found ")", expected ":" and the type of "d""#]
    ),
    ("protocol A { optional should shouldA (b: (c, d_)) }", [#"1:46: found "d_", expected \#(value)"#]),
    ("protocol A { optional should shouldA (b: (c, c)) }", [#"1:46: there is a value "c" already"#]),
    ("protocol A { optional should shouldA (b: int, b: int) }", [#"1:47: there is a field "b" already"#]),
    ("protocol A { optional should shouldA (b__c: int) }", [#"1:39: found "b__c", expected \#(fieldName)"#]),
    ("protocol A { optional should shouldA (_b: int) }", [#"1:39: found "_b", expected \#(fieldName)"#]),
    ("protocol A { optional should shouldA (b-c: int) }", [#"1:39: found "b-c", expected \#(fieldName)"#]),
    ("protocol A { optional value a () }", [#"1:34: found "}", expected "->" and the result of "a""#]),
    ("protocol A { optional value a () -> }", [#"1:37: found "}", expected "(""#]),
    ("protocol A { optional value a () -> int }", [#"1:37: found "int", expected "(""#]),
    (
      "protocol A { optional should shouldA () -> (b: int) }",
      [#"1:41: found "->", but only a value method has a result, and "shouldA" is a should method"#]
    ),
    ("protocol A { optional did a.close () }", ["1:27: \(misnamed("a.close", "did"))"]),
    ("protocol A { optional will a.willow () }", ["1:28: \(misnamed("a.willow", "will"))"]),
    ("protocol A { optional will didB.will () }", ["1:28: \(misnamed("didB.will", "will"))"]),
    ("protocol A { optional should shop.prune () }", ["1:30: \(misnamed("shop.prune", "should"))"]),
    ("protocol A { optional should a.shoulder () }", ["1:30: \(misnamed("a.shoulder", "should"))"]),
    (
      "protocol A { optional value a.shouldB () -> () }",
      [#"1:29: "a.shouldB" is a value method, but has the name of a question"#]
    ),
    (
      "protocol A { optional should tribune.shouldStop () }",
      [#"1:30: "tribune.shouldStop" is under "tribune.", which is reserved for the bus"#]
    ),
    (
      "protocol A { optional should cluster.shouldReboot () }",
      [#"1:30: \#(ofTheHost("cluster.shouldReboot"))"#]
    ),
    ("protocol A { required did host.didReboot () }", [#"1:27: \#(ofTheHost("host.didReboot"))"#]),
    (
      "protocol A { optional should scope.host.a.shouldB () }",
      [#"1:30: \#(ofTheHost("scope.host.a.shouldB"))"#]
    ),
    (
      "protocol A {\n  optional should shouldA ()\n  required did a.didB ()\n  optional should shouldA (b: int)\n}",
      [#"4:19: method "shouldA" is declared already at a.protocol:2:19"#]
    ),
    ("protocol A { type t (a: int) }", [#"1:19: found "t", expected \#(typeName)"#]),
    ("protocol A { type T int }", [#"1:21: found "int", expected "(""#]),
    ("protocol A { type T (a) type T (b) }", [#"1:30: type "T" is defined already at a.protocol:1:19"#]),
    (
      "protocol A { optional should shouldA (b: Foo, c: []Foo) }",
      [#"1:42: there is no type "Foo""#, #"1:52: there is no type "Foo""#]
    ),
    (
      "protocol A { type T (t: T) }",
      [#"1:19: type "T" contains itself: T → T; make one of them nullable, an array or a map"#]
    ),
    (
      "protocol A { type T (u: (v: U)) type U (t: T, n: ?U) }",
      [#"1:19: type "T" contains itself: T → U → T; make one of them nullable, an array or a map"#]
    ),
  ]

  /// A source with n parts, the limit of n, and the diagnostic one past it.
  static let bounds: [(source: @Sendable (Int) -> String, limit: Int, diagnostic: String)] = [
    ({ field(String(repeating: "[]", count: $0) + "int") }, 30, "1:87: types are nested more than 32 deep"),
    (
      { field(String(repeating: "(a: ", count: $0) + "int" + String(repeating: ")", count: $0)) }, 30,
      "1:149: types are nested more than 32 deep"
    ),
    ({ "protocol \(name($0)) {}" }, 255, #"1:10: found "\#(name(40))…", expected \#(protocolName)"#),
    (
      { "protocol A { type T (\(list($0))) }" }, 128,
      "1:\(22 + list(128).count + 2): a type has at most 128 values"
    ),
    (
      { "protocol A { type T (\(list($0, ": int"))) }" }, 128,
      "1:\(22 + list(128, ": int").count + 2): a type has at most 128 fields"
    ),
    ({ many($0, "optional should shouldA") }, 512, "514:17: a protocol has at most 512 methods"),
    ({ many($0, "type T") }, 128, "130:6: a protocol has at most 128 types"),
    ({ protocols($0) }, 64, "65:1: there are more than 64 protocols in one source"),
    (
      { protocols($0 + 1, last: " : \(list($0, first: "P", from: 0))") }, 16,
      "18:\(16 + list(16, first: "P", from: 0).count + 2): a protocol has at most 16 parents"
    ),
    ({ "#\(name($0))\nprotocol A {}" }, 4096, "2:1: the comment above is longer than 4096 bytes"),
    ({ signature($0) }, 8192, "1:38: the signature is longer than 8192 bytes"),
  ]

  private static func name(_ length: Int) -> String { String(repeating: "a", count: length) }

  private static func field(_ type: String) -> String { "protocol A { type T (f: \(type)) }" }

  private static func list(_ count: Int, _ type: String = "", first: String = "a", from: Int = 1000) -> String
  {
    (from..<from + count).map { "\(first)\($0)\(type)" }.joined(separator: ", ")
  }

  private static func many(_ count: Int, _ member: String) -> String {
    "protocol A {\n" + (0..<count).map { "\(member)\($0) ()\n" }.joined() + "}"
  }

  private static func protocols(_ count: Int, last: String = "") -> String {
    (0..<count).map { "protocol P\($0 + (last.isEmpty ? 1000 : 0))\($0 == count - 1 ? last : "") {}\n" }
      .joined()
  }

  private static func signature(_ length: Int) -> String {
    // 250 bytes for each field, with the separator.
    let fields = (0..<32).map { "f\($0 + 10)\(name(240)): int" }.joined(separator: ", ")
    let rest = length - fields.utf8.count - 2
    return "protocol A { optional should shouldA (\(fields), \(name(rest - 7)): int) }"
  }
}
