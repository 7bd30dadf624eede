// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneProtocols

@Suite("The library of protocols", .timeLimit(.minutes(15)))
struct LibraryTests {
  private static func source(_ text: String) -> ProtocolSource { ProtocolSource(text, file: "wire") }

  private static func refusal(
    of text: String, for owner: Int, in library: inout Library
  ) -> (messages: [String], isConflict: Bool)? {
    do throws(Library.Refusal) {
      try library.add(source(text), for: owner)
      return nil
    } catch {
      return (error.diagnostics.map(\.description), error.isConflict)
    }
  }

  @Test("files are linked together, whatever their order")
  func files() {
    let (library, diagnostics) = Library.loading("protocol B : A {}", "protocol A {} protocol C : B {}")
    #expect(diagnostics == [])
    #expect(library.protocols.map(\.name) == ["A", "B", "C"])
  }

  @Test("of two protocols with the same name the first stays, and a diagnostic has both locations")
  func twice() {
    let (library, diagnostics) = Library.loading(
      "protocol A { optional should shouldA () }", "protocol A { optional should shouldB () }",
      "# The same.\nprotocol A {\n  optional should shouldA ()\n}")
    #expect(
      diagnostics == [#"b.protocol:1:10: protocol "A" has another definition already, at a.protocol:1:10"#])
    #expect(library["A"]?.method(named: "shouldA") != nil)
  }

  @Test("diagnostics are sorted by file and line")
  func order() {
    let diagnostics = Library.loading("protocol A : X {}\nx", "y\nprotocol B : A {}", "protocol C : Z {}")
      .diagnostics
    #expect(
      diagnostics.map { $0.split(separator: " ")[0] } == [
        "a.protocol:1:14:", "a.protocol:2:1:", "b.protocol:1:1:", "b.protocol:2:14:", "c.protocol:1:14:",
      ])
  }

  @Test("a reload adds, changes and removes protocols, but not those in use")
  func reload() throws {
    var (library, _) = Library.loading("protocol A { optional should shouldA () } protocol B {}")
    let former = try #require(library["A"])
    let diagnostics = library.load([
      ProtocolSource("protocol A { optional should shouldB () } protocol C : A {} ")
    ])
    #expect(diagnostics == [])
    #expect(library.protocols.map(\.name) == ["A", "C"])
    #expect(library["A"]?.method(named: "shouldB") != nil)
    #expect(former.method(named: "shouldA") != nil)
    #expect(former.method(named: "shouldB") == nil)
  }

  @Test("an owner's protocols go with it, but not those that inherit from them")
  func owners() throws {
    var (library, _) = Library.loading("protocol F { optional should shouldF () }")
    #expect(Self.refusal(of: "protocol A : F { optional should shouldA () }", for: 1, in: &library) == nil)
    #expect(Self.refusal(of: "protocol B : A {} protocol C {}", for: 2, in: &library) == nil)
    #expect(library.owner(of: "A") == 1)
    #expect(library.owner(of: "F") == nil)
    #expect(library.protocols(of: 2).count == 2)
    library.remove(1)
    #expect(library.protocols.map(\.name) == ["B", "C", "F"])
    let child = try #require(library["B"])
    #expect(child.methods.map(\.name) == ["shouldA", "shouldF"])
    #expect(child.isOrInherits(from: "A"))
    library.remove(2)
    library.remove(2)
    #expect(library.protocols.map(\.name) == ["F"])
    #expect(library.protocols(of: 2).isEmpty)
  }

  @Test("owners share the same definition, which stays until the last one goes")
  func shared() {
    var library = Library()
    let text = "protocol A { optional should shouldA () } protocol B : A {}"
    for owner in [1, 2, 1] {
      #expect(Self.refusal(of: "# By \(owner)\n\(text)", for: owner, in: &library) == nil)
    }
    library.remove(1)
    #expect(library.protocols.map(\.name) == ["A", "B"])
    #expect(library.owner(of: "A") == 2)
    library.remove(2)
    #expect(library.protocols.isEmpty)
  }

  @Test("a different definition of a name is a conflict, and nothing of its source is added")
  func conflict() throws {
    var (library, _) = Library.loading("protocol A { optional should shouldA () }")
    let refusal = try #require(Self.refusal(of: "protocol B {}\nprotocol A {}", for: 1, in: &library))
    #expect(
      refusal.messages == [#"wire:2:10: protocol "A" has another definition already, at a.protocol:1:10"#])
    #expect(refusal.isConflict)
    #expect(library.protocols.map(\.name) == ["A"])
    #expect(library.protocols(of: 1).isEmpty)
    #expect(Self.refusal(of: "protocol A { optional should shouldA () }", for: 1, in: &library) == nil)
    library.remove(1)
    #expect(library["A"] != nil)
  }

  @Test("a source with any mistake is refused as a whole")
  func mistakes() throws {
    var library = Library()
    let refusal = try #require(Self.refusal(of: "protocol A {} protocol B : X { y }", for: 1, in: &library))
    #expect(refusal.messages.count == 2)
    #expect(!refusal.isConflict)
    #expect(library.protocols.isEmpty)
  }

  @Test("the same text with another parent is a different definition")
  func otherParent() {
    var library = Library()
    #expect(Self.refusal(of: "protocol A {}", for: 1, in: &library) == nil)
    #expect(Self.refusal(of: "protocol B : A {}", for: 2, in: &library) == nil)
    library.remove(1)
    #expect(Self.refusal(of: "protocol A { optional should shouldA () }", for: 3, in: &library) == nil)
    #expect(Self.refusal(of: "protocol B : A {}", for: 4, in: &library)?.isConflict == true)
  }

  @Test("a file's definition replaces that of an owner, unless it is the same")
  func fileOverOwner() {
    var library = Library()
    #expect(Self.refusal(of: "protocol A {} protocol B {} protocol C : A {}", for: 1, in: &library) == nil)
    let files = [ProtocolSource("protocol A { optional should shouldA () }\nprotocol B {}")]
    #expect(
      library.load(files).map(\.description) == [
        #"a.protocol:1:10: this replaces the protocol "A" that a connection has defined"#
      ])
    #expect(library.load(files) == [])
    #expect(library.owner(of: "A") == nil)
    #expect(library.protocols(of: 1).count == 2)
    #expect(library.load([]) == [])
    #expect(library.protocols.map(\.name) == ["B", "C"])
    library.remove(1)
    #expect(library.protocols.isEmpty)
  }
}
