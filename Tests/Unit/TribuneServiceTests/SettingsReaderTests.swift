// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneService

@Suite("The reader of settings", .timeLimit(.minutes(15)))
struct SettingsReaderTests {
  private struct Settings: Sendable {
    var word = ""
    var isStrict = false
    var notes: [String: String] = [:]
  }

  private static let sections: [SettingsSection<Settings>] = [
    SettingsSection(
      "Main",
      [Setting("Word", \.word) { $0 }, Setting("Strict", \.isStrict, strictly: true, SettingSyntax.flag)],
      doubt: { settings, _ in settings.isStrict = true }, consequence: "Strict=yes applies"),
    SettingsSection(
      "Note", hasSubject: true,
      [Setting("Text") { settings, value, place in settings.notes[place.subject] = value }],
      begin: { _, place throws(SettingError) in
        if place.subject == "bad" { throw SettingError(place.subject, "is bad") }
      }),
  ]

  /// The file could exist, but not its folder of drop-ins.
  private static let longName = String(repeating: "x", count: 254)

  private var reader = SettingsReader(Settings(), Self.sections)

  private mutating func read(_ text: String) -> [String] {
    let old = reader.diagnostics.count
    reader.read(Array(text.utf8), file: "f")
    return reader.diagnostics.dropFirst(old).map(\.description)
  }

  @Test("reads lines of any length", arguments: [1, 200, 5_000, 1_000_000])
  mutating func length(count: Int) {
    let value = String(repeating: "v", count: count)
    #expect(read("[Note \"\(value)\"]\nText=\(value)\n") == [])
    #expect(reader.settings.notes == [value: value])
  }

  @Test("takes the last line, and the default for an empty value")
  mutating func order() {
    #expect(read("[Main]\nWord=a\n[Note \"x\"]\nText=n\n[Main]\nWord=b\n") == [])
    #expect(read("[Note \"x\"]\nText=m\n") == [])
    #expect(reader.settings.word == "b" && reader.settings.notes == ["x": "m"])
    #expect(read("[Main]\nWord=\n") == [] && reader.settings.word.isEmpty)
  }

  @Test("takes an unreadable value as the strictest one until it reads another")
  mutating func invalid() {
    #expect(read("[Main]\nStrict=maybe\n") == ["f:2: error: Strict=: \"maybe\" is neither yes nor no"])
    #expect(reader.settings.isStrict)
    #expect(read("[Main]\nStrict=no\n") == [] && !reader.settings.isStrict)
  }

  @Test(
    "takes an unreadable line as the strictest of all settings, whatever follows",
    arguments: [
      ("x", "f:1: error: the line is neither a [Section] nor a Key=Value"),
      ("[Main]\nStrict yes", "f:2: error: the line is neither a [Section] nor a Key=Value"),
      ("[Main]\nStrict=yes\u{0}", "f:2: error: the line contains a NUL byte"),
      ("[Note \"a\"]\nStrict yes", "f:2: error: the line is neither a [Section] nor a Key=Value"),
      ("[Main\nStrict=yes", "f:1: error: the line is not a valid [Section] or [Section \"Subject\"]"),
      ("Strict=yes", "f:1: error: Strict= stands before any section"),
      ("[Mian]\nStrict=yes", "f:1: error: there is no section [Mian] (did you mean [Main]?)"),
      ("[Main \"a\"]\nStrict=yes", "f:1: error: there is no section [Main \"a\"] (did you mean [Main]?)"),
      ("[]", "f:1: error: there is no section []"),
      (
        "[Main]\nStrit=yes",
        "f:2: error: there is no Strit= in [Main]; Strict=yes applies (did you mean Strict=?)"
      ),
    ])
  mutating func doubt(text: String, diagnostic: String) {
    #expect(read(text) == [diagnostic])
    #expect(reader.settings.isStrict)
    #expect(read("[Main]\nStrict=no\nWord=a\n") == [])
    #expect(reader.settings.isStrict && reader.settings.word == "a")
  }

  @Test(
    "takes an unreadable file or folder as the strictest of all settings",
    arguments: [
      ("/proc/self", "fd", "fd: error: cannot be read: Is a directory"),
      ("/tmp", longName, "\(longName).d: error: cannot be listed: File name too long"),
    ])
  mutating func file(directory: String, name: String, diagnostic: String) {
    reader.read(name, in: directory)
    #expect(reader.diagnostics.map(\.description) == ["\(directory)/\(diagnostic)"])
    #expect(reader.settings.isStrict)
    #expect(read("[Main]\nStrict=no\n") == [] && reader.settings.isStrict)
  }

  @Test("takes a missing folder as strictest if it was named, or lost before a reload")
  mutating func missingFolder() {
    reader.read("x", in: "/nowhere")
    #expect(reader.diagnostics.map(\.description) == ["/nowhere: error: does not exist"])
    #expect(reader.settings.isStrict)
    for (folder, diagnostics) in [("/proc", []), ("/nowhere", ["/nowhere: error: does not exist"])] {
      #expect(ConfigurationFiles.reload(folder) { ((), []) }.1.map(\.description) == diagnostics)
    }
  }

  @Test(
    "ignores text that decides nothing, or shows its right form",
    arguments: [
      (
        "[Note \"a\"]\nTxt=b",
        "f:2: mistake: there is no Txt= in [Note \"a\"]; it is ignored (did you mean Text=?)"
      ),
      ("[Note \"bad\"]\nText=b", "f:1: error: [Note]: \"bad\" is bad"),
      ("[note a]\nText=b", "f:1: warning: [note a] is read as [Note \"a\"]: write it like that"),
    ])
  mutating func leftOut(text: String, diagnostic: String) {
    #expect(read(text) == [diagnostic])
    #expect(!reader.settings.isStrict)
    #expect(reader.settings.notes == (diagnostic.contains("warning") ? ["a": "b"] : [:]))
  }
}
