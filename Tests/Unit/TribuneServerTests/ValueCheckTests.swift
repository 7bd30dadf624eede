// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneProtocols
import TribuneServer
import TribuneWire

@Suite("Values and their types", .timeLimit(.minutes(15)))
struct ValueCheckTests {
  private static let types =
    "type Item (name: string, size: int, tags: ?[]string) type Kind (near, far) "
    + "type Tree (value: int, children: []Tree, next: ?Tree)"

  private static func method(_ parameters: String, result: String? = nil) throws -> ProtocolMethod {
    let method = result == nil ? "should shouldP" : "value p"
    let text =
      "protocol P { \(types) required \(method) (\(parameters)) \(result.map { "-> (\($0))" } ?? "") }"
    var library = ProtocolLibrary<Int>()
    try #require(library.load([ProtocolSource(file: "p", text: Array(text.utf8))]).map(\.description) == [])
    return try #require(library["P"]?.methods.first)
  }

  private static func refusal(_ userInfo: String, for method: ProtocolMethod) -> String? {
    do throws(WireError) {
      try ValueCheck.check(userInfo: userInfo.utf8Bytes, for: method)
      return nil
    } catch {
      #expect(error.code == .invalidParameter)
      return error.message
    }
  }

  @Test(
    "fitting userInfo is accepted",
    arguments: [
      ("", ""), ("", "{}"), ("a: ?int", ""), ("a: ?int", "{}"), ("a: ?int", #"{"a": null}"#),
      ("a: ?int", #"{"a": 1}"#), ("a: int", #"{"a": -9223372036854775808}"#), ("a: int", #"{"a": 1.0}"#),
      ("a: int", #"{"a": 1e3}"#), ("a: float", #"{"a": 1}"#), ("a: float", #"{"a": 1.5}"#),
      ("a: float", #"{"a": 123456789012345678901234567890}"#),
      ("a: bool, b: string", #" { "b": "", "a": false } "#), ("a: string", #"{"a": "\u0000"}"#),
      ("a: object", #"{"a": {"x": [1, null, {"y": {}}]}}"#), ("a: object", #"{"a": {}}"#),
      ("a: []int", #"{"a": []}"#), ("a: []?int", #"{"a": [1, null, 2]}"#),
      ("a: [][]bool", #"{"a": [[], [true]]}"#),
      ("a: [string]int", #"{"a": {"": 1, "b": 2}}"#), ("a: (x: int, y: ?(z: bool))", #"{"a": {"x": 1}}"#),
      ("a: (one, two)", #"{"a": "two"}"#), ("a: Kind", #"{"a": "far"}"#), ("a: ()", #"{"a": {}}"#),
      ("a: []Item", #"{"a": [{"name": "x", "size": 1}, {"name": "y", "size": 2, "tags": ["z"]}]}"#),
      (
        "a: Tree",
        #"{"a": {"value": 1, "children": [{"value": 2, "children": []}], "next": {"value": 3, "children": []}}}"#
      ),
    ])
  func right(parameters: String, userInfo: String) throws {
    #expect(Self.refusal(userInfo, for: try Self.method(parameters)) == nil)
  }

  @Test(
    "other userInfo is refused, and the message names the field",
    arguments: [
      ("a: int", "", "a is missing"), ("b: ?int, a: int", "{}", "a is missing"),
      ("", "[]", "userInfo is an array, and has to be an object"),
      ("", "null", "userInfo is null, and has to be an object"), ("", #"{"a": 1}"#, "a is not a field"),
      ("b: ?int", #"{"b": 1, "c.d\n": 1}"#, #"c.d\n is not a field"#),
      ("a: int", #"{"a": null}"#, "a is null, and has to be int"),
      ("a: int", #"{"a": "1"}"#, "a is a string, and has to be int"),
      ("a: int", #"{"a": 1.5}"#, "a has a fraction, and has to be int"),
      ("a: int", #"{"a": 9223372036854775808}"#, "a is beyond 64 bits, and has to be int"),
      ("a: int", #"{"a": 1e300}"#, "a is beyond 64 bits, and has to be int"),
      ("a: float", #"{"a": "1"}"#, "a is a string, and has to be float"),
      ("a: bool", #"{"a": 0}"#, "a is a number, and has to be bool"),
      ("a: string", #"{"a": true}"#, "a is a bool, and has to be string"),
      ("a: object", #"{"a": []}"#, "a is an array, and has to be object"),
      ("a: []int", #"{"a": {}}"#, "a is an object, and has to be an array"),
      ("a: []int", #"{"a": [1, 2, "3"]}"#, "a[2] is a string, and has to be int"),
      ("a: [string]int", #"{"a": {"b": 1, "c": null}}"#, "a.c is null, and has to be int"),
      ("a: (one, two)", #"{"a": "three"}"#, #"a is "three", and has to be one of (one, two)"#),
      ("a: Kind", #"{"a": 1}"#, "a is a number, and has to be (near, far)"),
      ("a: ?Kind", #"{"a": "NEAR"}"#, #"a is "NEAR", and has to be one of (near, far)"#),
      (
        "a: []Item", #"{"a": [{"name": "x", "size": 1}, {"name": 2, "size": 2}]}"#,
        "a[1].name is a number, and has to be string"
      ),
      ("a: []Item", #"{"a": [{"name": "x"}]}"#, "a[0].size is missing"),
      ("a: []Item", #"{"a": [{"name": "x", "size": 1, "more": 1}]}"#, "a[0].more is not a field"),
      (
        "a: Tree", #"{"a": {"value": 1, "children": [{"value": 2, "children": [null]}]}}"#,
        "a.children[0].children[0] is null, and has to be an object"
      ),
      (
        "a: (b: (c: [][string]int))", #"{"a": {"b": {"c": [{}, {"d": false}]}}}"#,
        "a.b.c[1].d is a bool, and has to be int"
      ),
      (
        "a: ?int", "{",
        "userInfo is not JSON that can be checked: line 1, column 1: string or '}' expected near end of file"
      ),
      (
        "a: ?int", #"{"a": 1, "a": 2}"#,
        #"userInfo is not JSON that can be checked: line 1, column 12: duplicate object key near '"a"'"#
      ),
    ])
  func wrong(parameters: String, userInfo: String, expected: String) throws {
    #expect(Self.refusal(userInfo, for: try Self.method(parameters)) == expected)
  }

  @Test("deep nesting and length are accepted within the limits, and refused beyond")
  func bounds() throws {
    let method = try Self.method("a: ?object, t: ?Tree, s: ?string")
    func nested(_ depth: Int) -> String {
      #"{"a": "# + String(repeating: #"{"a": "#, count: depth) + "{}" + String(repeating: "}", count: depth)
        + "}"
    }
    #expect(Self.refusal(nested(2_000), for: method) == nil)
    #expect(Self.refusal(nested(10_000), for: method)?.contains("depth") == true)
    func tree(_ depth: Int) -> String {
      let start = String(repeating: #"{"value": 1, "children": [], "next": "#, count: depth)
      return #"{"t": "# + start + "null" + String(repeating: "}", count: depth + 1)
    }
    #expect(Self.refusal(tree(127), for: method) == nil)
    #expect(Self.refusal(tree(128), for: method)?.hasSuffix(".next is nested more than 128 deep") == true)
    #expect(Self.refusal(tree(3_000), for: method)?.contains("depth") == true)
    let long = #"{"s": ""# + String(repeating: "x", count: (1 << 20) - 9) + #""}"#
    #expect(Self.refusal(long, for: method) == nil)
    #expect(Self.refusal(long + " ", for: method)?.contains("longer than 1 MiB") == true)
  }

  @Test("a message is as long as a reason can be at most")
  func longMessages() throws {
    let method = try Self.method("a: [string][string]int")
    let name = String(repeating: "ü", count: 3_000)
    let message = try #require(Self.refusal(#"{"a": {"\#(name)": {"\#(name)": null}}}"#, for: method))
    #expect(message.utf8.count <= WireLimits.reasonLength)
    #expect(message.hasPrefix("a.üü"))
  }

  @Test("a value is checked against the result, as userInfo is against the parameters")
  func values() throws {
    let method = try Self.method("a: int", result: "view: ?string, at: int")
    try ValueCheck.check(value: #"{"at": 1}"#.utf8Bytes, of: method)
    for (value, expected) in [("", "at is missing"), ("1", "the value is a number, and has to be an object")]
    {
      #expect(throws: WireError(.invalidParameter, expected)) {
        try ValueCheck.check(value: value.utf8Bytes, of: method)
      }
    }
  }
}
