// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneLogind
import TribuneService
import TribuneTestSupport

@Suite("Settings of tribune-logind", .timeLimit(.minutes(15)))
struct LogindSettingsTests {
  private func read(_ text: String) -> (LogindSettings, [String]) {
    var reader = LogindSettingsReader()
    reader.read(Array(text.utf8), file: "f")
    let (settings, diagnostics) = reader.finish()
    return (settings, diagnostics.map(\.description))
  }

  @Test("Settings are off by default")
  func defaults() {
    let (settings, diagnostics) = read("")
    #expect(settings == LogindSettings() && diagnostics.isEmpty)
    #expect(settings.probe == nil && settings.masksTargets && settings.signals.isEmpty)
  }

  @Test("Probe= is a span, and Enforce= one of two words; an empty value is the default")
  func logind() {
    let (settings, diagnostics) = read("[Logind]\nProbe=30s\nEnforce=mask\n")
    #expect(settings.probe == .seconds(30) && settings.masksTargets && diagnostics.isEmpty)
    let (reset, _) = read("[Logind]\nProbe=30s\nEnforce=mask\nProbe=\nEnforce=\n")
    #expect(reset == LogindSettings())
  }

  @Test("A signal has its own sender, and all its parts can be set")
  func signals() throws {
    let (settings, diagnostics) = read(
      """
      [Signal "org.freedesktop.login1.Manager.PrepareForSleep"]
      Post=host.sleepChanges
      [Signal "org.freedesktop.DBus.Properties.PropertiesChanged"]
      Post=network.didChange
      Sender=org.freedesktop.NetworkManager
      Path=/org/freedesktop/NetworkManager
      Object=network
      Retain=yes
      """)
    #expect(diagnostics.isEmpty)
    try #require(settings.signals.count == 2)
    let (sleep, network) = (settings.signals[0], settings.signals[1])
    #expect(sleep.interface == "org.freedesktop.login1.Manager" && sleep.member == "PrepareForSleep")
    #expect(sleep.sender == "org.freedesktop.login1" && sleep.path == nil)
    #expect(sleep.post == "host.sleepChanges" && sleep.object.isEmpty && !sleep.isRetained)
    #expect(
      network.sender == "org.freedesktop.NetworkManager" && network.path == "/org/freedesktop/NetworkManager")
    #expect(network.object == "network" && network.isRetained)
  }

  @Test(
    "A mistake is reported with its line",
    arguments: [
      ("[Logind]\nProbe=5ms", "f:2: error: Probe=: \"5ms\" is less than a second"),
      ("[Logind]\nEnforce=yes", "f:2: error: Enforce=: \"yes\" is neither mask nor inhibit"),
      (
        "[Logind]\nProb=5s",
        "f:2: error: there is no Prob= in [Logind]; Enforce=mask applies (did you mean Probe=?)"
      ),
      (
        "[Login]\nProbe=5s", "f:1: error: there is no section [Login] (did you mean [Logind]?)"
      ),
      ("Probe=5s", "f:1: error: Probe= stands before any section"),
      ("[Signal \"a.b.C\"]", "f:1: error: Post= is missing: the name of the notification"),
      (
        "[Signal \"a'b.c.D\"]\nPost=x",
        "f:1: error: [Signal]: \"a'b.c.D\" is not INTERFACE.MEMBER of a D-Bus signal"
      ),
      ("[Signal \"nothing\"]", "f:1: error: [Signal]: \"nothing\" is not INTERFACE.MEMBER of a D-Bus signal"),
      (
        "[Signal \"a.b.C\"]\nPost=tribune.x\nPost=x",
        "f:2: error: Post=: \"tribune.x\" is not a notification name"
      ),
      ("[Signal \"a.b.C\"]\nPost=x\nPath=a", "f:3: error: Path=: \"a\" is not a D-Bus object path"),
      (
        "[Signal \"a.b.C\"]\nPost=x\nSender=a'b",
        "f:3: error: Sender=: \"a'b\" is not a D-Bus service name"
      ),
      ("[Signal \"a.b.C\"]\nPost=x\nRetain=1", "f:3: error: Retain=: \"1\" is neither yes nor no"),
      ("[Logind", "f:1: error: the line is not a valid [Section] or [Section \"Subject\"]"),
    ])
  func mistakes(text: String, diagnostic: String) { #expect(read(text).1 == [diagnostic]) }

  @Test("Valid settings are used beside invalid ones")
  func partly() {
    let (settings, diagnostics) = read(
      "[Logind]\nProbe=x\nEnforce=mask\n[Signal \"a.b.C\"]\n[Signal \"a.b.D\"]\nPost=x\n")
    #expect(
      diagnostics.count == 2 && settings.masksTargets && settings.signals.map(\.member) == ["D"])
  }

  @Test("An unknown word of Enforce= counts as mask, and later lines win")
  func unknownEnforcement() {
    #expect(read("[Logind]\nEnforce=msk\n").0.masksTargets)
    #expect(read("[Logind]\nEnforce=msk\nEnforce=inhibit\n").0.masksTargets == false)
    #expect(read("[Logind]\nEnforce mask\n").0.masksTargets)
    #expect(read("[Logind]\nEnforc=mask\nEnforce=inhibit\n").0.masksTargets)
  }

  @Test(
    "An unreadable line counts as Enforce=mask, whatever follows",
    arguments: ["[Logind", "\t[Logind\u{0}]", "[Logind] x", "[Logid]", "[Signal \"a.b.C\"]\nPost=x\nPath"])
  func unreadable(lines: String) {
    let (settings, diagnostics) = read("[Logind]\nEnforce=inhibit\n\(lines)\n[Logind]\nEnforce=inhibit\n")
    #expect(settings.masksTargets && diagnostics.count == 1)
    #expect(read("[Signal \"a.b.C\"]\nPost=x\nPth=/x\n").0.masksTargets)
  }

  @Test("An unreadable file counts as Enforce=mask")
  @MainActor func unreadableFile() {
    let (settings, diagnostics) = LogindProgram.load(from: "/dev/null")
    #expect(settings.masksTargets)
    #expect(diagnostics.first?.description == "/dev/null/logind.conf: error: cannot be read: Not a directory")
  }

  @Test("A missing folder is an error, and masks; a folder without the file is not an error")
  @MainActor func missingFolder() {
    let path = "/nonexistent/tribune"
    let (settings, diagnostics) = LogindProgram.load(from: path)
    #expect(settings.masksTargets)
    #expect(diagnostics == [Diagnostic(.error, path, nil, "does not exist")])
    #expect(LogindProgram.load(from: "/").1 == [])
  }

  @Test("The configuration as installed is the default", arguments: ["logind.conf", "signals.conf"])
  func installed(file: String) throws {
    let (settings, diagnostics) = read(try repositoryText("config/\(file)"))
    #expect(settings == LogindSettings() && diagnostics.isEmpty)
  }

  @Test("The settings that the configuration shows are valid", arguments: ["logind.conf", "signals.conf"])
  func shown(file: String) throws {
    #expect(read(try shownSettings(file)).1.isEmpty)
  }
}
