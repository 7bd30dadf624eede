// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import wiregen

@Suite("The description of the wire")
struct DescriptionTests {
  private static let small = """
    # Nothing here is read.
    section Pets
    limit toys = 3             # Toys of one pet.
    id PetID                   # A pet.
    enum Mood: u8              # How a pet is.
      calm = 0
      hungry = 1               # It wants
                               # to eat.
    record Toy                 # A toy.
      colour, shape: text
    frame Feed = 9 feed, C→B, may be empty, passes, long, unnamed # Feeds a pet
      pet: PetID
      mood: Mood = calm
      toys: [Toy]
      names: [text] up to toys # what it is called
    """

  @Test("is read with its documentation, over several lines")
  func parsing() throws {
    let description = try DescriptionParser.parse(Self.small)
    #expect(description.limits.map(\.value) == [3])
    #expect(description.enumerations.first?.members.last?.documentation == "It wants to eat.")
    let feed = try #require(description.frames.first)
    #expect(feed.word == "feed" && feed.number == 9 && feed.canBeEmpty && feed.direction == .fromClient)
    #expect(feed.classes == ["passes", "long", "unnamed"])
    #expect(feed.fields.map(\.name) == ["pet", "mood", "toys", "names"])
    #expect(feed.fields[2].type == .records("Toy") && feed.fields[3].limit == "toys")
    guard case .record(let toy) = description.declaration(named: "Toy") else {
      Issue.record("there is no Toy")
      return
    }
    #expect(toy.fields.map(\.continuesLine) == [false, true])
  }

  @Test(
    "is refused with the place of its mistake",
    arguments: [
      ("frames Feed", "1: \"frames Feed\" declares nothing"), ("  a: u8", "1: this is a part of nothing"),
      ("frame Feed = x feed, C→B", "1: frame NAME"), ("frame Feed = 1 feed, A→B", "1: frame NAME"),
      ("frame Feed = 1 feed, C→B, odd", "1: \"odd\" is unknown"),
      (
        "frame Feed = 1 feed, C→B",
        "1: Feed must say what the bus remembers of a frame: write one of \"passes\", \"observes\""
      ),
      ("frame Feed = 1 feed, both, passes, unnamed", "Feed must say whether one can be much work: write one"),
      ("frame Feed = 1 feed, C→B, passes, long", "write one of \"named\", \"named by query\""),
      ("frame Feed = 1 feed, C→B, passes, asks, long, unnamed", "Feed must say what the bus remembers"),
      ("frame Feed = 1 feed, B→C, asks", "Feed does not come from clients: write none of \"passes\""),
      ("enum Mood u8", "1: NAME: TYPE"),
      ("enum Mood: u8\n  calm", "2: WORD = NUMBER"), ("record Toy\n  colour: text glossy", "2: \"glossy\""),
      ("record Toy\n  colour: Paint", "the type Paint is unknown"),
      ("record Toy\nrecord Toy", "Toy is there twice"),
      ("record Toy\n  a: u8\n  a: u8", "the field a is there twice"),
      ("record Toy\n  a: [text] up to b", "the limit b is unknown"),
      ("enum Mood: u8\n  a = 1\n  b = 1", "the number 1 is there twice"),
      ("frame A = 1 a, B→C\nframe B = 1 b, B→C", "the kind 1 is there twice"),
    ])
  func mistakes(text: String, message: String) {
    let error = #expect(throws: DescriptionError.self) { try DescriptionParser.parse(text) }
    #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
  }

  @Test("fills the tables of a document, and changes nothing else")
  func tables() throws {
    var tables = Tables(try DescriptionParser.parse(Self.small))
    let document = """
      # Pets

      ### feed (9)

      Text.

      | old |
      | --- |
      | row |

      <!-- Toy -->
      | old |

      | other | table |
      """
    #expect(
      try tables.filled(document) == """
        # Pets

        ### feed (9)

        Text.

        | field | type | |
        |---|---|---|
        | pet | u64 | |
        | mood | enum | 0 calm, 1 hungry |
        | toys | u32, then so many records | |
        | names | u16, then so many texts | what it is called |

        <!-- Toy -->
        | field | type | |
        |---|---|---|
        | colour, shape | text each | |

        | other | table |
        """)
    let error = #expect(throws: DescriptionError.self) { try tables.filled("### feed (8)") }
    #expect(error?.description == "1: no frame is called feed and has the number 8")
  }

  @Test(
    "writes names of several words in lower case",
    arguments: [("busPID", "bus_pid"), ("isDryRun", "is_dry_run")])
  func names(name: String, words: String) { #expect(name.snakeCase == words) }
}
