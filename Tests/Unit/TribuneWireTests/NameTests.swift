// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@Suite("Names and objects", .timeLimit(.minutes(15)))
struct NameTests {
  @Test(
    "A name is tokens with dots between them",
    arguments: [
      "a", "window.willClose", "a.b.c.d.e.f", "0", "-", "_", "-._", "A-Z_0-9.z", "tribune", "tribune.x",
      String(repeating: "a", count: 255), String(repeating: "a.", count: 127) + "a",
    ])
  func names(_ text: String) { #expect(NameSyntax.isName(text.utf8Bytes) == true) }

  @Test(
    "Any other text is no name",
    arguments: [
      "", ".", "..", "a.", ".a", "a..b", "a b", " a", "a ", "a/b", "a*", "*", "**", "a.*", "a.**", "a:b", "ä",
      "a.ß", "a\0", "\0", "a\n", "a\u{7F}", "a,b", "a@b", "a[", "a`", "a{", "a\u{301}", "Ｋ", "\u{212A}",
      String(repeating: "a", count: 256), String(repeating: "a.", count: 128),
    ])
  func noNames(_ text: String) { #expect(NameSyntax.isName(text.utf8Bytes) == false) }

  @Test("Each byte is part of a token, or of no name")
  func everyByte() {
    let token = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-".utf8)
    for byte in UInt8.min ... .max {
      #expect(NameSyntax.isName([byte].raw) == token.contains(byte), "\(byte)")
      let isName = token.contains(byte) || byte == UInt8(ascii: ".")
      #expect(NameSyntax.isName([0x61, byte, 0x61].raw) == isName, "\(byte)")
    }
  }

  @Test(
    "A wildcard is a part between slashes of one or two stars",
    arguments: [
      ("*", true), ("**", true), ("a/*", true), ("*/a", true), ("a/**/b", true), ("/*", true), ("", false),
      ("/", false), ("a", false), ("***", false), ("a*", false), ("*a/b", false), ("a/b*", false),
      ("a//b", false),
    ])
  func wildcards(_ object: String, _ isExpected: Bool) {
    #expect(NameSyntax.hasWildcard(object.utf8Bytes) == isExpected)
  }

  @Test(
    "An object is any single line of text, or empty",
    arguments: [
      "", "window/42", "unit/nginx.service", " ", "a b", "*", "Fenster/größte", "日本", "🏛", "e\u{301}", "\"",
      "\\", "\u{A0}", "\u{FFFD}", String(repeating: "a", count: 255),
      String(repeating: "ä", count: 127) + "a", String(repeating: "🏛", count: 63) + "abc",
    ])
  func objects(_ text: String) { #expect(NameSyntax.isObject(text.utf8Bytes) == true) }

  @Test(
    "Text with control characters or more than 255 bytes is no object",
    arguments: [
      "\0", "a\n", "\t", "\r", "\u{1B}[31m", "a\u{7F}", "\u{80}", "ä\u{85}", "ä\u{9B}31m", "\u{9F}",
      String(repeating: "a", count: 256), String(repeating: "ä", count: 128),
      String(repeating: "🏛", count: 64),
    ])
  func noObjects(_ text: String) { #expect(NameSyntax.isObject(text.utf8Bytes) == false) }

  @Test(
    "Bytes that are not UTF-8 are no object",
    arguments: [
      [0x80], [0xFF], [0xC3], [0x61, 0xC3], [0xC3, 0x28], [0xC0, 0xAF], [0xC1, 0xBF], [0xE0, 0x80, 0xAF],
      [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x8F],
    ] as [[UInt8]])
  func invalidUTF8(_ bytes: [UInt8]) { #expect(NameSyntax.isObject(bytes.raw) == false) }

  @Test(
    "Names under tribune. are reserved for the bus",
    arguments: [
      ("tribune.started", true), ("tribune.a.b", true), ("tribune.-", true), ("tribune", false),
      ("tribunes.a", false), ("tribun.e", false), ("Tribune.a", false), ("a.tribune.b", false), ("a", false),
      ("tribune-x.a", false),
    ])
  func reserved(_ name: String, _ isReserved: Bool) {
    #expect(NameSyntax.isReserved(name.utf8Bytes) == isReserved)
  }

  @Test(
    "A name is a will or did by its last token, unless it is reserved",
    arguments: [
      ("window.willClose", true), ("didClose", true), ("a.b.did-x", true), ("a.did9", true),
      ("window.willing", false), ("window.will", false), ("window.did", false), ("didClose.now", false),
      ("window.shouldClose", false), ("tribune.delegate.didAttach", false), ("tribunes.didAttach", true),
    ])
  func willOrDid(_ name: String, _ isWillOrDid: Bool) {
    #expect(NameSyntax.isWillOrDid(name.utf8Bytes) == isWillOrDid)
  }
}

@Suite("Text", .timeLimit(.minutes(15)))
struct TextTests {
  @Test(
    "Characters that could act on a terminal or break a line are escaped",
    arguments: [
      ("plain", "plain"), ("größte 🏛 日本", "größte 🏛 日本"), ("a\nb", "a\\nb"), ("a\tb", "a\\tb"),
      ("a\r\nb", "a\\u{d}\\nb"), ("\u{1B}[31m", "\\u{1b}[31m"), ("\0", "\\u{0}"), ("\u{7F}", "\\u{7f}"),
      ("\u{85}", "\\u{85}"), ("\u{9B}", "\\u{9b}"), ("\u{A0}", "\u{A0}"), ("\u{2028}", "\\u{2028}"),
      ("\u{2029}", "\\u{2029}"), ("a\u{202E}b", "a\\u{202e}b"), ("\u{2066}", "\\u{2066}"),
      ("\u{2069}", "\\u{2069}"), ("\u{200E}\u{200F}\u{61C}", "\\u{200e}\\u{200f}\\u{61c}"), ("", ""),
      ("e\u{301}", "e\u{301}"), ("❤\u{FE0F}", "❤\u{FE0F}"), ("a\u{AD}", "a\\u{ad}"),
      ("\u{200B}\u{200C}\u{200D}", "\\u{200b}\\u{200c}\\u{200d}"), ("\u{2060}\u{2064}", "\\u{2060}\\u{2064}"),
      ("\u{FEFF}", "\\u{feff}"), ("\u{3164}", "\\u{3164}"), ("\u{E0001}\u{E007F}", "\\u{e0001}\\u{e007f}"),
    ])
  func escaping(_ text: String, _ escaped: String) {
    #expect(text.escaped.unicodeScalars.elementsEqual(escaped.unicodeScalars))
  }

  @Test("Escaping leaves no control characters, line breaks, changes of direction or invisible characters")
  func escapingEverything() {
    for value in UInt32(0)...0x1_0000 {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let isLeft = String(scalar).escaped.unicodeScalars.contains(scalar)
      let isHarmful =
        scalar.properties.generalCategory == .control
        || scalar.properties.isDefaultIgnorableCodePoint && !scalar.properties.isVariationSelector
        || scalar.properties.generalCategory == .lineSeparator
        || scalar.properties.generalCategory == .paragraphSeparator
      #expect(isLeft != isHarmful, "\(String(value, radix: 16))")
    }
  }

  @Test(
    "A prefix ends between two characters",
    arguments: [
      ("abc", 3, "abc"), ("abc", 4, "abc"), ("abc", 2, "ab"), ("abc", 0, ""), ("", 0, ""), ("ä", 1, ""),
      ("ä", 2, "ä"), ("aä", 2, "a"), ("aäb", 3, "aä"), ("🏛🏛", 7, "🏛"), ("🏛🏛", 5, "🏛"), ("🏛", 3, ""),
      ("日本", 5, "日"), ("a\r\nb", 2, "a\r"), ("e\u{301}", 2, "e"),
      (String(repeating: "a", count: 20) + "ä", 21, String(repeating: "a", count: 20)),
    ])
  func prefix(_ text: String, _ length: Int, _ expected: String) {
    let cut = text.prefix(utf8Length: length)
    #expect(cut.unicodeScalars.elementsEqual(expected.unicodeScalars))
    #expect(cut.utf8.count <= length)
  }

  @Test("The UTF-8 of short and long texts stays valid", arguments: 0...40)
  func utf8Bytes(length: Int) {
    let text = String(String(repeating: "tribune ", count: 5).prefix(length))
    #expect(Array(text.utf8Bytes) == Array(text.utf8))
    let bytes = text.utf8Bytes
    overwriteStack(64)
    #expect(Array(bytes) == Array(text.utf8))
  }

  @Test(
    "The unit of the system ends at the first slash, whatever follows",
    arguments: [
      ("a.service", "a.service", ""), ("a.service/b.service", "a.service", "b.service"),
      ("a.service/\u{301}", "a.service", "\u{301}"), ("/b", "", "b"), ("", "", ""),
    ])
  func units(_ text: String, _ system: String, _ user: String) {
    let units = PeerUnits(text: text)
    #expect(units == PeerUnits(system: system, user: user) && units.text == text)
  }

  @Test("Nouns and verbs agree with their counts")
  func counted() {
    #expect([0, 1, 2].map { $0.counted("post") } == ["0 posts", "1 post", "2 posts"])
    #expect(
      [UInt64(1), .max].map { $0.counted("entry was", "entries were") }
        == ["1 entry was", "18446744073709551615 entries were"])
  }

  @inline(never)
  private func overwriteStack(_ depth: Int) {
    guard depth > 0 else { return }
    overwriteStack(depth - 1)
  }
}
