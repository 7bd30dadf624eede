// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneHTTP
import TribuneService
import TribuneTestSupport
import TribuneWire

@testable import TribuneNATS

@Suite("Settings of tribune-nats", .timeLimit(.minutes(15)))
struct NATSSettingsTests {
  private func read(_ text: String) -> (NATSSettings, [String]) {
    var reader = NATSSettingsReader(hostName: "db1.example.org")
    reader.read(Array(text.utf8), file: "f")
    let (settings, diagnostics) = reader.finish()
    return (settings, diagnostics.map(\.description))
  }

  @Test("Nothing is shared by default, and the host is named by the first part of its host name")
  func defaults() {
    let (settings, diagnostics) = read("")
    #expect(diagnostics.isEmpty && !settings.isUsed)
    #expect(settings.host == "db1" && settings.missing == .veto && settings.hostTimeout == .seconds(10))
  }

  @Test("All settings are read, and a host does not ask itself")
  func everything() throws {
    let (settings, diagnostics) = read(
      """
      [Cluster]
      Name=shop
      Host=db2
      Servers=nats://10.0.0.1:4222 tls://nats.example.org
      Roster=db1 db2 db3 db1
      OnMissingHost=abstain
      HostTimeoutSec=30s
      CredentialsFile=/etc/tribune/nats.creds
      AuthorityFile=/etc/ssl/ca.pem
      [Export "backup.did*"]
      [Export "backup.*"]
      [Import "backup.**"]
      From=db1
      [Query "cluster.**"]
      Scope=cluster
      [Query "host.**"]
      """)
    // `did*` is no token of a pattern.
    #expect(
      diagnostics == [
        "f:10: error: [Export]: \"backup.did*\" is not a pattern of names that programs may use"
      ])
    #expect(settings.cluster == "shop" && settings.host == "db2" && settings.lack == nil)
    #expect(settings.servers.count == 2 && settings.others == ["db1", "db3"])
    #expect(settings.missing == .abstain && settings.hostTimeout == .seconds(30))
    #expect(settings.login.credentialsFile == "/etc/tribune/nats.creds" && settings.requiresTLS)
    #expect(settings.exports.map(\.pattern.text) == ["backup.*"])
    #expect(settings.imports.map(\.pattern.text) == ["backup.**"] && settings.imports[0].hosts == ["db1"])
    #expect(settings.questions.map(\.pattern.text) == ["cluster.**", "host.**"])
    #expect(settings.clusterPatterns == ["cluster.**"])
  }

  @Test("Groups of FleetLock may be in several files, and the last line counts")
  func fleetLock() {
    let (settings, diagnostics) = read(
      """
      [FleetLock]
      Hosts=Lock.example.org
      [FleetLock "a"]
      [FleetLock "b.c"]
      Slots=2
      Ask=cluster.fleetlock.shouldReboot
      [FleetLock "a"]
      Slots=3
      """)
    #expect(diagnostics.isEmpty && settings.isUsed)
    #expect(settings.fleetLock.access.hosts == ["lock.example.org"])
    #expect(settings.fleetLock.groups.mapValues(\.slots) == ["a": 3, "b.c": 2])
    #expect(settings.fleetLock.groups.mapValues(\.question)["b.c"] == "cluster.fleetlock.shouldReboot")
  }

  @Test("An empty value is the default")
  func reset() {
    let text = "[Cluster]\nName=a\nHost=x\nOnMissingHost=abstain\nHostTimeoutSec=1s\nRoster=a b\n"
    let empty = "Name=\nHost=\nOnMissingHost=\nHostTimeoutSec=\nRoster=\n"
    #expect(read(text + empty).0 == read("").0)
  }

  @Test(
    "A cluster's missing setting is named",
    arguments: [
      ("", "Name= is missing in [Cluster]"), ("Name=a", "Servers= is missing in [Cluster]"),
      ("Name=a\nServers=nats://h", "Roster= in [Cluster] has no other host to ask"),
      ("Name=a\nServers=nats://h\nRoster=db1", "Roster= in [Cluster] has no other host to ask"),
    ])
  func lacks(cluster: String, lack: String) {
    #expect(read("[Query \"cluster.**\"]\nScope=cluster\n[Cluster]\n\(cluster)\n").0.lack == lack)
  }

  @Test(
    "A misspelt section or word of questions does not limit them to one host",
    arguments: [
      (
        "[Query cluster.**]\nScope=cluster",
        "f:1: warning: [Query cluster.**] is read as [Query \"cluster.**\"]: write it like that"
      ),
      (
        "[query \"cluster.**\"]\nScope=cluster",
        "f:1: warning: [query] is read as [Query \"cluster.**\"]: write it like that"
      ),
      (
        "[Query \"cluster.**\"]\nScop=cluster",
        "f:2: error: there is no Scop= in [Query \"cluster.**\"]; the cluster counts as unreachable (did you mean Scope=?)"
      ),
      (
        "[Query \"cluster.**\"]\nScope cluster",
        "f:2: error: the line is neither a [Section] nor a Key=Value"
      ),
      (
        "[Query \"cluster.**\"]\nScope=Cluster",
        "f:2: error: Scope=: \"Cluster\" is neither cluster nor host"
      ),
    ])
  func wrongQuestions(text: String, diagnostic: String) {
    let (settings, diagnostics) = read(text)
    #expect(settings.clusterPatterns == ["cluster.**"])
    #expect(diagnostics == [diagnostic])
  }

  @Test(
    "A name that nobody asks is an error, and no question passes",
    arguments: [
      ("host.reboot", "host.shouldReboot"), ("host.willReboot", "host.shouldReboot"),
      ("cluster.shouldreboot", "cluster.shouldReboot"), ("db.didRestart", "db.shouldRestart"),
    ])
  func misspelt(pattern: String, question: String) {
    let cluster = "[Cluster]\nName=a\nServers=nats://h\nRoster=db1 db2\n[Query \"b\"]\nScope=cluster\n"
    let (settings, diagnostics) = read(cluster + "[Query \"\(pattern)\"]\nScope=cluster\n")
    #expect(
      diagnostics.first
        == "f:7: error: [Query]: \"\(pattern)\" is not the name of a question: did you mean \(question)?")
    #expect(settings.lack == "f:7 cannot be read")
  }

  @Test("Problems of a login are reported before the first attempt")
  func login() {
    func problems(_ text: String) -> [String] { read("[Cluster]\n\(text)").0.login.problems }
    #expect(problems("PublicKey=U1\nSeedFile=/proc/self/cmdline").isEmpty)
    #expect(problems("User=a") == ["User= needs PasswordFile="])
    #expect(problems("CredentialsFile=/none") == ["CredentialsFile=: there is no file /none"])
    #expect(
      problems("KeyFile=/none")
        == ["KeyFile=: there is no file /none", "KeyFile= needs CertificateFile="])
  }

  @Test("Without a login, questions get a warning that NATS does not identify hosts")
  func nameless() {
    func warnings(_ login: String) -> [String] { read("[Query \"a\"]\n[Cluster]\n\(login)").0.warnings }
    #expect(warnings("").count == 1 && warnings("")[0].hasPrefix("without a login in [Cluster]"))
    #expect(warnings("AuthorityFile=/a").count == 1)
    for login in ["User=a", "CredentialsFile=/a", "PublicKey=U1", "CertificateFile=/a"] {
      #expect(warnings(login).isEmpty)
    }
    #expect(read("[Export \"a\"]").0.warnings.isEmpty)
  }

  @Test("With tls://, a connection without TLS is refused")
  func tls() {
    #expect(!read("[Cluster]\nServers=nats://a").0.requiresTLS)
    #expect(read("[Cluster]\nServers=nats://a tls://b").0.requiresTLS)
    #expect(read("[Cluster]\nServers=nats://a\nAuthorityFile=/a").0.requiresTLS)
    #expect(read("[Cluster]\nServers=nats://a\nAuthorityFile=a").0.requiresTLS)
    #expect(read("[Cluster]\nServers=nats://a\nCertificateFile=a").0.requiresTLS)
  }

  @Test(
    "A mistake is reported with its line",
    arguments: [
      (
        "[Cluster]\nName=a.b",
        "f:2: error: Name=: \"a.b\" is not 1 to 63 letters A-Z, a-z, digits, _ or -"
      ),
      (
        "[Cluster]\nServers=10.0.0.1",
        "f:2: error: Servers=: \"10.0.0.1\" does not begin with nats:// or tls://"
      ),
      (
        "[Cluster]\nServers=nats://db1:secret@h",
        "f:2: error: Servers=: write a user and password in User= and PasswordFile=, not in an address"
      ),
      (
        "[Cluster]\nServers=db1:secret@h",
        "f:2: error: Servers=: write a user and password in User= and PasswordFile=, not in an address"
      ),
      (
        "[Cluster]\nServers=nats://h:4222?pass=secret",
        "f:2: error: Servers=: an address is a host with an optional port, as in nats://10.0.0.1:4222"
      ),
      ("[Cluster]\nSeedFile=x", "f:2: error: SeedFile=: \"x\" is not an absolute path"),
      (
        "[Cluster]\nOnMissingHost=ignore",
        "f:2: error: OnMissingHost=: \"ignore\" is neither abstain nor veto"
      ),
      ("[Cluster]\nHostTimeoutSec=2h", "f:2: error: HostTimeoutSec=: \"2h\" is out of range (1s to 1h)"),
      ("[Cluster]\nX=1", "f:2: error: there is no X= in [Cluster]; the cluster counts as unreachable"),
      (
        "[Cluster \"x\"]",
        "f:1: error: there is no section [Cluster \"x\"] (did you mean [Cluster]?)"
      ),
      ("[Export]", "f:1: error: [Export]: the section needs a pattern, as in \"backup.**\""),
      (
        "[Import \"tribune.**\"]",
        "f:1: error: [Import]: \"tribune.**\" is not a pattern of names that programs may use"
      ),
      (
        "[Import \"a\"]\nRetain=yes",
        "f:2: error: there is no Retain= in [Import \"a\"]; the cluster counts as unreachable"
      ),
      ("[Export \"a\"]\nForm=b", "f:2: mistake: there is no Form= in [Export \"a\"]; it is ignored"),
      (
        "[Export \"a\"]\nScope=cluster",
        "f:2: error: there is no Scope= in [Export \"a\"]; the cluster counts as unreachable (it belongs under [Query \"…\"])"
      ),
      ("[Import \"a\"]\nDurable=1", "f:2: error: Durable=: \"1\" is neither yes nor no"),
      ("[Cluster]\nDurableMaxBytes=1", "f:2: error: DurableMaxBytes=: \"1\" is out of range (64K to 1T)"),
      (
        "[Cluster]\nDurableMaxAgeSec=1min",
        "f:2: error: DurableMaxAgeSec=: \"1min\" is out of range (1h to 365d)"
      ),
      ("Name=a", "f:1: error: Name= stands before any section"),
      (
        "[FleetLock \"a..b\"]",
        "f:1: error: [FleetLock]: \"a..b\" is not words of letters, digits and -, separated by dots"
      ),
      ("[FleetLock \"a\"]\nSlots=0", "f:2: error: Slots=: \"0\" is out of range (1 to 64)"),
      ("[FleetLock \"a\"]\nAsk=**", "f:2: error: Ask=: \"**\" is not a name that programs may ask"),
      (
        "[FleetLock \"a\"]\nAsk=fleet.ok",
        "f:2: error: Ask=: \"fleet.ok\" is not the name of a question: did you mean fleet.shouldOk?"
      ),
      (
        "[FleetLock \"a\"]\nAsk=cluster.reboot",
        "f:2: error: Ask=: \"cluster.reboot\" is not the name of a question: did you mean cluster.shouldReboot?"
      ),
      (
        "[FleetLock \"a\"]\nAsc=x",
        "f:2: error: there is no Asc= in [FleetLock \"a\"]; no host of the group may reboot (did you mean Ask=?)"
      ),
      (
        "[Cluster]\nRooster=x",
        "f:2: error: there is no Rooster= in [Cluster]; the cluster counts as unreachable (did you mean Roster=?)"
      ),
      ("[FleetLock]\nSlots=1", "f:2: error: there is no Slots= in [FleetLock]; no client is served"),
      (
        "[FleetLock]\nAllowNetwork=yes",
        "f:2: error: AllowNetwork= needs TokenFile=: other hosts would need no token"
      ),
    ])
  func mistakes(text: String, diagnostic: String) { #expect(read(text).1 == [diagnostic]) }

  @Test("Durable= is set for each section, and for each direction")
  func durable() {
    let (settings, diagnostics) = read(
      """
      [Cluster]
      DurableMaxBytes=64M
      DurableMaxAgeSec=1d
      [Export "**"]
      [Export "a.**"]
      Durable=yes
      [Export "b"]
      Durable=yes
      [Export "b"]
      Durable=no
      [Import "a.**"]
      From=db2
      Durable=yes
      [Import "b"]
      """)
    #expect(diagnostics.isEmpty && settings.durableBytesMax == 64 << 20)
    #expect(settings.durableAgeMax == .seconds(86_400))
    #expect(settings.exports.map(\.isDurable) == [false, true, false] && settings.hasDurableExports)
    #expect(settings.isExportedDurably("a.x") && !settings.isExportedDurably("b"))
    for (name, host, durably) in [("a.x", "db2", true), ("b", "db3", false)] {
      #expect(settings.imports(name, from: host, durably: durably))
      #expect(!settings.imports(name, from: host, durably: !durably))
    }
    #expect(!settings.imports("a.x", from: "db3", durably: true))
    #expect(!settings.imports("c", from: "db2", durably: true))
  }

  @Test("A name that is both shared and durable is found, whatever its patterns")
  func sharedAndDurable() throws {
    let durable = "[Export \"a.*\"]\nDurable=yes\n[Import \"b.**\"]\nDurable=yes\n[Export \"c\"]\n"
    #expect(read(durable + "[Retain \"c\"]\n[Retain \"a.b.c\"]\n").0.sharedAndDurable == nil)
    let shared = try #require(read(durable + "[Retain \"c\"]\n[Retain \"*.x\"]\n").0.sharedAndDurable)
    #expect(shared == ("*.x", "a.*"))
    #expect(read(durable + "[Retain \"b.c\"]").0.sharedAndDurable?.durable == "b.**")
  }

  @Test("Lines of a roster add up; an empty one clears it")
  func rosterLines() {
    let lines = "[Cluster]\nRoster=db1 db2\nRoster=db2 db3\n"
    #expect(read(lines).0.roster == ["db1", "db2", "db3"])
    #expect(read(lines + "Roster=\nRoster=db4\n").0.roster == ["db4"])
    let cluster = "Name=a\nServers=nats://h\n[Query \"b\"]\nScope=cluster\n"
    let wrong = read(lines + "Roster=db/4\n" + cluster).0
    #expect(wrong.roster == ["db1", "db2", "db3"] && wrong.scopeLack == "f:4 cannot be read")
  }

  @Test("Rosters of the same hosts have the same mark in any order, and others do not")
  func rosterMarks() {
    func mark(_ lines: String) -> String { read("[Cluster]\n\(lines)").0.rosterMark }
    let whole = mark("Roster=db1 db2 db3")
    #expect(mark("Roster=db3\nRoster=db2 db1") == whole && mark("") == "")
    for other in ["db1 db2", "db2 db3", "db1 db2 db4", "db1 db2db3"] {
      #expect(mark("Roster=\(other)") != whole)
    }
  }

  @Test("A roster of any length is read whole")
  func longRoster() {
    let hosts = (0..<64).map { "\(String(repeating: "h", count: 60))\($0)" }
    let text = "[Cluster]\nRoster=\(hosts.joined(separator: String(repeating: " ", count: 20)))\n"
    #expect(text.utf8.count > 5_000)
    let (settings, diagnostics) = read(text)
    #expect(settings.roster == hosts && diagnostics.isEmpty)
  }

  @Test(
    "An unreadable line is an error of the whole file: no question passes, and no host may reboot",
    arguments: [
      "[Cluster]\nRoster db1 db2", "[Cluster]\nRoster=db1\u{0}", "[Query \"cluster.**\"]\nScope",
      "[Query \"a", "[FleetLock \"a\"]\nAsk", "[FleetLock]\nTokenFile", "[Import \"a\"]\nFrom", "x",
      "[Qeury \"a\"]", "[Cluster]\nRostr=db1", "[Cluster]\nAuthorityFle=/a", "[Import \"a\"]\nForm=db1",
      "[Query \"b\"]\nScop=cluster",
    ])
  func unreadable(lines: String) {
    let cluster = "[Cluster]\nName=a\nServers=nats://h\nRoster=db1 db2\n[Query \"b\"]\nScope=cluster\n"
    #expect(read(cluster).0.lack == nil)
    let (settings, diagnostics) = read(cluster + lines)
    let line = (cluster + lines).split(separator: "\n").count
    #expect(settings.lack == "f:\(line) cannot be read")
    #expect(diagnostics.count == 1 && diagnostics[0].hasPrefix("f:\(line): error: "))
  }

  @Test("An unreadable file counts as one with vetoes and a token")
  func unreadableFile() {
    let (settings, diagnostics) = NATSSettings.load(from: "/dev/null", hostName: "db1")
    #expect(settings.lack?.hasSuffix(" cannot be read") == true && settings.fleetLock.access.lack != nil)
    #expect(diagnostics.first?.description == "/dev/null/nats.conf: error: cannot be read: Not a directory")
  }

  @Test("An unknown header counts as [FleetLock] with a token")
  func unknownHeader() {
    #expect(read("[FleetLok]\nTokenFile=/t\n[FleetLock]\nTokenFile=\n").0.fleetLock.access.lack != nil)
  }

  @Test(
    "An unreadable header [Query …] is an error of the whole file, and earlier sections stay",
    arguments: ["[Query \"c.**", "[Query \"c*\"]", "[Query]", "[Query c]\u{0}"])
  func unreadableQuestions(header: String) {
    let cluster = "[Cluster]\nName=a\nServers=nats://h\nRoster=db1 db2\n[Query \"b\"]\nScope=cluster\n"
    let (settings, diagnostics) = read(cluster + "\(header)\nScope=host\n[Query \"d\"]\nScope=cluster\n")
    #expect(settings.lack == "f:7 cannot be read" && settings.clusterPatterns == ["b", "d"])
    #expect(diagnostics.count == 1 && diagnostics[0].hasPrefix("f:7: error: "))
  }

  @Test("An unreadable line or unknown key counts as the strictest setting, whatever follows")
  func doubt() {
    for line in ["TokenFile", "TokenFil=/t"] {
      #expect(read("[FleetLock]\n\(line)\nTokenFile=").0.fleetLock.access.lack != nil)
    }
    for line in ["Ask", "Asc=b"] {
      #expect(read("[FleetLock \"a\"]\n\(line)\nAsk=shouldB").0.fleetLock.groups["a"]?.lack != nil)
    }
    for line in ["Scope", "Scop=cluster"] {
      #expect(read("[Query \"a\"]\n\(line)\nScope=host").0.clusterPatterns == ["a"])
    }
  }

  @Test("An unreadable value counts as the strictest one")
  func strict() {
    #expect(read("[Cluster]\nOnMissingHost=abstain\nOnMissingHost=maybe").0.missing == .veto)
    #expect(read("[Cluster]\nName=a\nName=b c").0.cluster.isEmpty)
    #expect(read("[Cluster]\nServers=nats://a\nServers=tls:/b").0.servers.isEmpty)
    #expect(read("[Query \"a\"]\nScope=world").0.clusterPatterns == ["a"])
    #expect(read("[Import \"a\"]\nFrom=a.b").0.imports.map(\.hosts) == [[""]])
    #expect(read("[Query \"a\"]\nScope=cluster\nScope=host").0.clusterPatterns.isEmpty)
    #expect(read("[FleetLock \"a\"]\nSlots=5\nSlots=x").0.fleetLock.groups["a"]?.slots == 1)
    #expect(read("[FleetLock \"a\"]\nAsk=shouldB\nAsk=b c").0.fleetLock.groups["a"]?.lack != nil)
    #expect(read("[FleetLock \"a\"]\nAsk=b c\nAsk=shouldB").0.fleetLock.groups["a"]?.lack == nil)
    #expect(read("[Export \"a\"]\nDurable=perhaps").0.hasDurableExports)
  }

  @Test("The configuration as installed is the default")
  func installed() throws {
    let (settings, diagnostics) = read(try repositoryText("config/nats.conf"))
    #expect(settings == read("").0 && diagnostics.isEmpty)
  }

  @Test("The settings that the configuration shows are valid")
  func shown() throws {
    let (settings, diagnostics) = read(try shownSettings("nats.conf"))
    #expect(diagnostics.isEmpty && settings.isUsed && settings.lack == nil)
  }
}
