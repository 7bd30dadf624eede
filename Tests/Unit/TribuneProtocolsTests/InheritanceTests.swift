// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneProtocols

@Suite("Inheritance", .timeLimit(.minutes(15)))
struct InheritanceTests {
  @Test("inherited methods have their origin")
  func origins() throws {
    let (library, diagnostics) = Library.loading(
      """
      protocol C : B, X { optional should shouldC () }
      protocol B : A { required should shouldB () }
      protocol X { optional did x.didY () }
      protocol A { optional should shouldA () }
      """)
    #expect(diagnostics == [])
    let child = try #require(library["C"])
    #expect(child.parents.map(\.name) == ["B", "X"])
    #expect(child.ancestors.map(\.name) == ["B", "A", "X"])
    #expect(
      child.methods.map { "\($0.origin) \($0.name)" } == ["C shouldC", "B shouldB", "A shouldA", "X x.didY"])
    #expect(child.method(named: "shouldA")?.origin == "A")
    #expect(child.method(named: "shouldD") == nil)
    #expect(["A", "B", "C", "X"].allSatisfy { child.isOrInherits(from: $0) })
    #expect(try !#require(library["B"]).isOrInherits(from: "C"))
  }

  @Test("a method of a diamond is inherited once, and required if either side requires it")
  func diamond() throws {
    let (library, diagnostics) = Library.loading(
      """
      protocol A { optional should shouldA (x: int) optional should shouldB () type T (one) }
      protocol L : A { optional should shouldL () }
      protocol R : A { required should shouldA (x: int) }
      protocol D : L, R {}
      protocol E : R, L {}
      """)
    #expect(diagnostics == [])
    for name in ["D", "E"] {
      let child = try #require(library[name])
      #expect(child.methods.map(\.name).sorted() == ["shouldA", "shouldB", "shouldL"])
      #expect(child.method(named: "shouldA")?.isRequired == true)
      #expect(child.method(named: "shouldA")?.origin == "R")
      #expect(child.method(named: "shouldB")?.isRequired == false)
      #expect(Set(child.ancestors.map(\.name)).count == child.ancestors.count)
      #expect(child.ancestors.last?.name == "A")
    }
    #expect(library["L"]?.method(named: "shouldA")?.isRequired == false)
  }

  @Test(
    "a method that several parents share is required if one of them requires it", arguments: ["L, R", "R, L"])
  func eitherParent(_ parents: String) throws {
    let (library, diagnostics) = Library.loading(
      """
      protocol L { optional should shouldA (x: int) }
      protocol R { required should shouldA (x: int) }
      protocol C : \(parents) {}
      """)
    #expect(diagnostics == [])
    let child = try #require(library["C"])
    #expect(child.methods.map { "\($0.origin) \($0.isRequired)" } == ["R true"])
  }

  @Test("types are inherited with the meaning of their origin")
  func types() throws {
    let (library, diagnostics) = Library.loading(
      """
      protocol A { type T (x: U) type U (one, two) optional should shouldA (t: T) }
      protocol B : A { type V (t: []T, v: ?V) optional should shouldB (v: V, u: U) type U (one, two) }
      """)
    #expect(diagnostics == [])
    let child = try #require(library["B"])
    #expect(child.types.keys.sorted() == ["T", "U", "V"])
    #expect(child.method(named: "shouldA")?.types.keys.sorted() == ["T", "U"])
    #expect(child.method(named: "shouldB")?.types.count == 3)
  }

  private static func inherited(_ place: String, from origin: String) -> String {
    #"\#(place): method "shouldA" is inherited from \#(origin); it can be declared again only to make it required"#
  }

  @Test(
    "conflicts are refused with both locations",
    arguments: [
      ("protocol B : A {}", [#"1:14: there is no protocol "A""#], []),
      ("protocol B : A, C {}", [#"1:14: there is no protocol "A""#, #"1:17: there is no protocol "C""#], []),
      ("protocol A : A {}", [#"1:14: "A" inherits from itself: A → A"#], []),
      (
        "protocol X {}\nprotocol A : X, B {}\nprotocol B : A {}\nprotocol C : B {}",
        [
          #"2:17: "A" inherits from itself: A → B → A"#, #"3:14: "B" is left out, as its parent "A" is"#,
          #"4:14: "C" is left out, as its parent "B" is"#,
        ], ["X"]
      ),
      (
        "protocol Z : C {}\nprotocol C : A {}\nprotocol B : C {}\nprotocol A : B {}",
        [
          #"1:14: "Z" is left out, as its parent "C" is"#, #"2:14: "C" inherits from itself: C → A → B → C"#,
          #"3:14: "B" is left out, as its parent "C" is"#, #"4:14: "A" is left out, as its parent "B" is"#,
        ], []
      ),
      (
        "protocol A { oops }\nprotocol B : A {}\nprotocol C : B, A {}\nprotocol D {}",
        [
          #"1:14: found "oops", expected "optional", "required", "type" or "}""#,
          #"2:14: "B" is left out, as its parent "A" is"#, #"3:14: "C" is left out, as its parent "B" is"#,
        ], ["D"]
      ),
      (
        "protocol A { oops } protocol B : A, X { oops }",
        [
          #"1:14: found "oops", expected "optional", "required", "type" or "}""#,
          #"1:37: there is no protocol "X""#,
          #"1:41: found "oops", expected "optional", "required", "type" or "}""#,
        ], []
      ),
      (
        "protocol A { optional should shouldA () }\nprotocol B : A { optional should shouldA () }",
        [inherited("2:34", from: #""A" (a.protocol:1:30)"#)], ["A"]
      ),
      (
        "protocol A { required should shouldA () }\nprotocol B : A { required should shouldA () }",
        [inherited("2:34", from: #""A" (a.protocol:1:30)"#)], ["A"]
      ),
      (
        "protocol A { optional should shouldA () }\nprotocol R : A { required should shouldA () }\nprotocol B : A, R { required "
          + "should shouldA () }", [inherited("3:37", from: #""R" (a.protocol:2:34)"#)], ["A", "R"]
      ),
      (
        "protocol A { optional should shouldA (x: int) }\nprotocol B : A { required should shouldA (x: float) }",
        [#"2:34: method "shouldA" differs from the inherited one of "A" (a.protocol:1:30)"#], ["A"]
      ),
      (
        "protocol A { optional will willA () }\nprotocol B : A { required value willA () -> () }",
        [#"2:33: method "willA" differs from the inherited one of "A" (a.protocol:1:28)"#], ["A"]
      ),
      (
        "protocol A { optional should shouldA (x: int) }\nprotocol B { optional should shouldA (y: int) }\nprotocol C : A, B {}",
        [#"3:10: method "shouldA" of "A" (a.protocol:1:30) differs from that of "B" (a.protocol:2:30)"#],
        ["A", "B"]
      ),
      (
        "protocol A { type T (one) }\nprotocol B { type T (two) }\nprotocol C : A, B {}",
        [#"3:10: type "T" differs between "A" and "B""#], ["A", "B"]
      ),
      (
        "protocol A { type T (one) }\nprotocol B : A { type T (two) }",
        [#"2:23: type "T" differs from that in "A": (one)"#], ["A"]
      ),
    ])
  func wrong(text: String, expected: [String], left: [String]) {
    let (library, diagnostics) = Library.loading(text)
    #expect(diagnostics == expected.map { "a.protocol:\($0)" })
    #expect(library.protocols.map(\.name) == left)
  }

  @Test("the message about a long cycle does not name all protocols")
  func longCircle() {
    let count = 60
    let text = (0..<count).map { "protocol P\($0) : P\(($0 + 1) % count) {}\n" }.joined()
    let (library, diagnostics) = Library.loading(text, text.replacing("P", with: "Q"))
    #expect(library.protocols.isEmpty)
    #expect(diagnostics.count == 2 * count)
    #expect(diagnostics.first?.hasSuffix("P59 → P0") == true)
    var wide = Library()
    let files = (0..<10).map { file in
      ProtocolSource(
        (0..<count).map { "protocol P\(file * count + $0) : P\((file * count + $0 + 1) % (10 * count)) {}\n" }
          .joined(),
        file: "\(file)")
    }
    #expect(wide.load(files).first?.message.hasSuffix("P63 → (536 more) → P0") == true)
  }

  @Test("inheritance has limits")
  func bounds() {
    func chain(_ length: Int) -> String {
      (0..<length).map { "protocol P\($0) \($0 == 0 ? "" : ": P\($0 - 1) "){}\n" }.joined()
    }
    let one = chain(60)
    let other = chain(66).split(separator: "\n").suffix(6).joined(separator: "\n")
    #expect(
      Library.loading(one, other).diagnostics == [
        #"b.protocol:6:10: "P65" inherits from more than 64 protocols"#
      ])
    func many(_ name: String, _ count: Int, _ member: String) -> String {
      "protocol \(name) {\n" + (0..<count).map { member.replacing("%", with: "\(name)\($0)") + "\n" }.joined()
        + "}\n"
    }
    let methods = many("A", 300, "optional should should% ()") + many("B", 213, "optional should should% ()")
    #expect(
      Library.loading(methods + "protocol C : A, B {}").diagnostics == [
        #"a.protocol:518:10: "C" has more than 512 methods with those it inherits"#
      ])
    let types = many("A", 100, "type % ()") + many("B", 29, "type % ()")
    #expect(
      Library.loading(types + "protocol C : A, B {}").diagnostics == [
        #"a.protocol:134:10: "C" has more than 128 types with those it inherits"#
      ])
  }
}
