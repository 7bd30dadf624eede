// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneProtocols

@Suite("Protocol files", .timeLimit(.minutes(15)))
struct ParserTests {
  @Test("a file is read with all its parts")
  func all() throws {
    let (library, diagnostics) = Library.loading(everything)
    #expect(diagnostics == [])
    #expect(library.protocols.map(\.name) == ["ScrollViewDelegate", "TapScrollViewDelegate"])
    let scrolling = try #require(library["ScrollViewDelegate"])
    #expect(scrolling.documentation == "What a scroll view asks and tells its delegate.")
    #expect(scrolling.location == SourceLocation(file: "a.protocol", line: 2, column: 10))
    #expect(
      scrolling.methods.map(\.declaration.description) == [
        "optional should scrollView.shouldScrollToTop (animated: bool)",
        "optional did scrollView.didScroll (offset: float, page: int, at: ?Point, unit: Unit)",
        "required will scrollView.willScroll (tree: Tree, type: string, optional: ?[][string]object)",
        "optional value scrollView.zoomTarget () -> (view: ?string, kind: (near, far), at: (x: int, y: int))",
      ])
    let method = try #require(scrolling.methods.first)
    #expect(method.declaration.documentation == "Whether a tap on the\nstatus bar scrolls.")
    #expect(method.declaration.location == SourceLocation(file: "a.protocol", line: 10, column: 19))
    #expect(scrolling.types["Unit"] == .enumeration(["pixel", "page"]))
  }

  @Test("the text of a protocol is read as the same protocol")
  func text() throws {
    let (library, _) = Library.loading(everything)
    let (again, diagnostics) = Library.loading(library.protocols.map(\.text).joined(separator: "\n"))
    #expect(diagnostics == [])
    #expect(again.protocols.map(\.text) == library.protocols.map(\.text))
    for linked in library.protocols { #expect(try #require(again[linked.name]).isSame(as: linked)) }
  }

  @Test(
    "spaces, line ends and comments can be anywhere",
    arguments: [
      "protocol A{optional did x.didY(a:int,b:?[]int)}", "\u{FEFF}protocol A {}", "protocol A {}\r\n",
      "#\n#\u{85}ü\nprotocol # one\nA # two\n: # three\nB { # four\n} # five\nprotocol B {}#", "",
      "\n\t \r\n", "#", "protocol A {\n required value v ( )->( r : [ string ] ( on , off ) )\n}",
      "protocol protocol {}",
      "protocol A { optional value value (type: bool, required: (optional, type)) -> (did: int) }",
      "protocol A { optional should -a._-.shouldB () optional should shouldB () }",
      "protocol A { type T () type U (a) }",
    ])
  func right(text: String) { #expect(Library.loading(text).diagnostics == []) }

  @Test(
    "a comment directly above is the documentation",
    arguments: [
      ("# a\nprotocol A {}", "a"), ("# a\n#  b\n#\n#c \nprotocol A {}", "a\n b\n\nc"),
      ("# a\n\nprotocol A {}", ""), ("# a\n\n# b\nprotocol A {}", "b"),
      ("protocol B {} # a\nprotocol A {}", ""), ("protocol B {} # a\n# b\nprotocol A {}", "b"),
      ("# a\r\n# b\r\nprotocol A {}", "a\nb"), ("# ## a\nprotocol A {}", "## a"), ("protocol A # a\n{}", ""),
    ])
  func documentation(text: String, expected: String) throws {
    let (library, diagnostics) = Library.loading(text)
    #expect(diagnostics == [])
    #expect(try #require(library["A"]).documentation == expected)
  }

  @Test("a diagnostic has the location, and the found and the expected text", arguments: Mistakes.syntax)
  func mistakes(text: String, expected: [String]) {
    let (library, diagnostics) = Library.loading(text)
    #expect(diagnostics == expected.map { "a.protocol:\($0)" })
    #expect(library["A"] == nil)
  }

  @Test("the parser continues after a mistake, and reads the valid protocols")
  func recovery() {
    let (library, diagnostics) = Library.loading(
      """
      protocol A {
        optional should a.shouldB (x: it, y: int)
        optional did a.didB (x: int
        optional did a.didC (x: int)
        required a.c ()
      }
      protocol B { optional should shouldB () }
      protocol { optional will b.willC (: int) }
      protocol C : B, { optional did x }
      protocol D : B
        optional did d.didX ()
      }
      protocol E { optional should shouldE ()
      protocol F : B { required should shouldF () }
      } nonsense (type: protocol) protocol G {}
      """)
    #expect(library.protocols.map(\.name) == ["B", "F", "G"])
    #expect(
      diagnostics == [
        #"a.protocol:2:33: found "it", expected a type"#,
        #"a.protocol:4:3: found "optional", expected "," or ")""#,
        #"a.protocol:5:12: found "a.c", expected "should", "will", "did" or "value""#,
        #"a.protocol:8:10: found "{", expected a protocol's name (a letter, then letters, digits and _)"#,
        #"a.protocol:8:35: found ":", expected a field's name (a letter, then letters and digits, with single _ "#
          + "between)",
        #"a.protocol:9:17: found "{", expected a protocol's name (a letter, then letters, digits and _)"#,
        #"a.protocol:9:32: "x" is a did method, but its last part does not begin with "did" and an upper case "#
          + "letter",
        #"a.protocol:9:34: found "}", expected "(""#,
        #"a.protocol:11:3: found "optional", expected "," or "{""#,
        #"a.protocol:14:1: found "protocol", expected a method, a type or "}""#,
        #"a.protocol:15:1: found "}", expected "protocol""#,
      ])
  }

  @Test("a source past a limit is refused with the location")
  func bounds() {
    // Not as `arguments`, which would be printed.
    for (source, limit, expected) in Mistakes.bounds {
      #expect(Library.loading(source(limit)).diagnostics == [], "\(expected)")
      #expect(Library.loading(source(limit + 1)).diagnostics == ["a.protocol:\(expected)"])
    }
  }

  @Test("many mistakes give the first diagnostics, and the number of the rest")
  func flood() {
    let diagnostics = Library.loading(String(repeating: "protocol { }\n", count: 5_000)).diagnostics
    #expect(diagnostics.count == 101)
    #expect(diagnostics.last == "a.protocol:5000:10: this is the last of 4900 more mistakes")
  }

  @Test("invalid UTF-8 is refused, also in comments")
  func notUTF8() {
    var library = Library()
    let name = ProtocolSource(file: "a", text: Array("protocol A".utf8) + [0xFF, 0x20, 0x7B, 0x7D])
    #expect(
      library.load([name]).map(\.description) == [
        "a:1:10: found bytes that are not UTF-8, expected a protocol's name (a letter, then letters, digits and _)"
      ])
    let comment = ProtocolSource(file: "a", text: Array("protocol A {} #".utf8) + [0xC3])
    #expect(library.load([comment]).map(\.description) == ["a:1:15: the comment is not UTF-8"])
  }

  @Test(
    "the time for a long source is bounded by its length",
    arguments: [
      "(", "[]", "{", "?", "a ", "protocol A {", "optional ", "# a\n", "(a:", "protocol A : A {} ", "\u{0}",
      "-",
    ])
  func long(part: String) {
    for start in ["", "protocol A { type T (a: ", "protocol A { optional did a.didB (a: "] {
      let text = start + String(repeating: part, count: (1 << 16) / part.utf8.count)
      #expect(Library.loading(text).diagnostics.count <= 200)
    }
  }
}
