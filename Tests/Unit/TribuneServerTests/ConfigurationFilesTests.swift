// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneCore
import TribuneProtocols
import TribuneServer
import TribuneService
import TribuneTestSupport

@Suite("The configuration's files")
struct ConfigurationFilesTests {
  @Test("are read in the order of their names, and the last value wins")
  func dropIns() throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "tribuned.conf", "[Bus]\nConnectionsMax=1\nObservationsMax=1\nDelegatesMax=1\nQueriesMax=1\n")
    try folder.write("tribuned.conf.d/90-last.conf", "[Bus]\nQueriesMax=4\n")
    try folder.write(
      "tribuned.conf.d/10-first.conf", "[Bus]\nQueriesMax=2\nObservationsMax=2\nDelegatesMax=2\n")
    try folder.write("tribuned.conf.d/Upper.conf", "[Bus]\nDelegatesMax=\n")
    try folder.write("tribuned.conf.d/50-middle.conf", "[Bus]\nQueriesMax=3\nDelegatesMax=3\n")
    try folder.write("tribuned.conf.d/99-other.conf~", "[Bus]\nQueriesMax=5\n")
    try folder.write("tribuned.conf.d/.99-hidden.conf", "[Bus]\nQueriesMax=6\n")
    let (configuration, diagnostics) = Configuration.load(from: folder.path)
    var expected = Configuration()
    expected.connectionsMax = 1
    expected.observationsMax = 2
    expected.queriesMax = 4
    #expect(configuration == expected)
    #expect(diagnostics == [])
  }

  @Test("a file whose name has another suffix is reported, except for leftovers of editors and package tools")
  func misnamed() throws {
    let folder = try TemporaryFolder()
    let others = [
      "policy.d/50-deny", "policy.d/50-deny.polcy", "protocols.d/a.proto", "tribuned.conf.d/1.con",
    ]
    let leftovers = ["README", ".a", "a.policy~", "a.policy.dpkg-old", "a.policy.rpmsave"].map {
      "policy.d/\($0)"
    }
    for name in others + leftovers { try folder.write(name, "deny") }
    let (_, diagnostics) = Configuration.load(from: folder.path)
    #expect(diagnostics.allSatisfy { $0.severity == .warning })
    #expect(diagnostics.map(\.file).sorted() == others.map { "\(folder.path)/\($0)" })
    #expect(diagnostics.first?.message == "is not read: its name does not end in .conf")
  }

  @Test("may be missing; a missing folder is an error", arguments: ["", "/nowhere"])
  func missing(subfolder: String) throws {
    let folder = try TemporaryFolder()
    let path = folder.path + subfolder
    let (configuration, diagnostics) = Configuration.load(from: path, defaults: .forUser)
    #expect(configuration == .forUser)
    let error = Diagnostic(.error, path, nil, "does not exist")
    #expect(diagnostics == (subfolder.isEmpty ? [] : [error]))
  }

  @Test("warn of a required unit where systemd does not run", arguments: [true, false])
  func requiredUnit(hasUnits: Bool) throws {
    let folder = try TemporaryFolder()
    let lines = "RequireDelegate=unit:x.service\nRequireDelegate=\nRequireDelegate=label:b unit:a.service\n"
    try folder.write("tribuned.conf", "[Query \"backup.*\"]\n\(lines)")
    let warning = Diagnostic(
      .warning, "\(folder.path)/tribuned.conf", 4,
      """
      no delegate can be in the unit a.service, because systemd does not run here: the bus vetoes backup.* until you \
      require a label instead
      """)
    #expect(Configuration.load(from: folder.path, hasUnits: hasUnits).1 == (hasUnits ? [] : [warning]))
  }

  @Test("report all their mistakes at once")
  func allProblems() throws {
    let folder = try TemporaryFolder()
    try folder.write("tribuned.conf", "[Queue]\nHighMark=x\n")
    try folder.write("tribuned.conf.d/1.conf", "[Queue]\nHighMark=2M\nFoo=1\n")
    try folder.write("tribuned.conf.d/2.conf", "LowMark=1\n[Queue]\nLowMark=3M\n")
    let path = folder.path
    #expect(
      Configuration.load(from: path).1 == [
        Diagnostic(
          .error, "\(path)/tribuned.conf", 2, "HighMark=: \"x\" is not a size such as 64K, 1M or 2G"),
        Diagnostic(
          .mistake, "\(path)/tribuned.conf.d/1.conf", 3, "there is no Foo= in [Queue]; it is ignored"),
        Diagnostic(
          .error, "\(path)/tribuned.conf.d/2.conf", 1, "LowMark= stands before any section"),
        Diagnostic(.error, "\(path)/tribuned.conf.d/2.conf", 3, "LowMark=3M is not below HighMark=2M"),
      ])
  }

  @Test("are named in an error if they are unreadable")
  func unreadable() throws {
    let folder = try TemporaryFolder()
    try folder.write("tribuned.conf/is-a-folder", "")
    try folder.write("tribuned.conf.d/1.conf", String(repeating: "#\n", count: 600_000))
    try folder.write("tribuned.conf.d/2.conf", "[Bus]\nQueriesMax=0\n")
    let path = folder.path
    #expect(
      Configuration.load(from: path).1.map(\.description) == [
        "\(path)/tribuned.conf: error: cannot be read: Is a directory",
        "\(path)/tribuned.conf.d/1.conf: error: is longer than 1 MiB",
        "\(path)/tribuned.conf.d/2.conf:2: error: QueriesMax=: \"0\" is out of range (1 to 1048576)",
      ])
  }

  @Test("report a drop-in folder that is a file")
  func folderThatIsNone() throws {
    let folder = try TemporaryFolder()
    try folder.write("tribuned.conf.d", "")
    #expect(
      Configuration.load(from: folder.path).1.map(\.description) == [
        "\(folder.path)/tribuned.conf.d: error: cannot be listed: Not a directory"
      ])
  }

  @Test("of protocols are read in the order of their names, and linked together")
  func protocols() throws {
    let folder = try TemporaryFolder()
    try folder.write("tribuned.conf", "[Object \"view/*\"]\nProtocol=Heir\n")
    try folder.write("protocols.d/10.protocol", "protocol Heir : Base {}\n")
    try folder.write("protocols.d/Upper.protocol", "protocol Base { optional did a.didB () }\n")
    try folder.write("protocols.d/20.protocol~", "protocol")
    try folder.write("protocols.d/.hidden.protocol", "protocol")
    let (configuration, diagnostics) = Configuration.load(from: folder.path)
    #expect(diagnostics == [])
    #expect(
      configuration.protocolSources.map(\.file)
        == ["10", "Upper"].map { "\(folder.path)/protocols.d/\($0).protocol" })
    #expect(configuration.objects.map(\.protocolName) == ["Heir"])
  }

  @Test("of protocols report their mistakes, and everything else takes effect")
  func wrongProtocols() throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "tribuned.conf", "[Bus]\nQueriesMax=5\n[Object \"a\"]\nProtocol=A\n[Object \"b\"]\nProtocol=B\n")
    try folder.write("protocols.d/1.protocol", "protocol A { optional did a.b () }\nprotocol B {}\n")
    try folder.write("protocols.d/2.protocol/is-a-folder", "")
    try folder.write("protocols.d/3.protocol", String(repeating: "#\n", count: 600_000))
    try folder.write("protocols.d/4.protocol", "protocol B { optional did a.didB () }\n")
    let path = folder.path
    let (configuration, diagnostics) = Configuration.load(from: path)
    #expect(diagnostics.allSatisfy { $0.severity == .mistake })
    #expect(
      diagnostics.map(\.description) == [
        "\(path)/protocols.d/2.protocol: mistake: cannot be read: Is a directory",
        "\(path)/protocols.d/3.protocol: mistake: is longer than 1 MiB",
        "\(path)/protocols.d/1.protocol:1:27: mistake: \"a.b\" is a did method, but its last part does not begin with \"did\" and an upper case letter",
        "\(path)/protocols.d/4.protocol:1:10: mistake: protocol \"B\" has another definition already, at \(path)/protocols.d/1.protocol:2:10",
        "\(path)/tribuned.conf:4: mistake: Protocol=: there is no protocol \"A\" in protocols.d",
      ])
    #expect(configuration.queriesMax == 5)
  }

  @Test("include a correct example of protocols")
  func exampleProtocols() throws {
    let text = try repositoryText("config/example.protocol")
    var reader = ConfigurationReader(defaults: Configuration())
    reader.read(ProtocolSource(file: "example.protocol", text: Array(text.utf8)))
    reader.read(Array("[Object \"view/*\"]\nProtocol=TapScrollViewDelegate\n".utf8), file: "t.conf")
    #expect(reader.finish().1 == [])
  }

  @Test(
    "are neither waited for nor skipped if one is a pipe without a writer", .timeLimit(.minutes(15)))
  func pipe() throws {
    let folder = try TemporaryFolder()
    unsafe #expect(mkfifo(folder.path + "/tribuned.conf", 0o600) == 0)
    #expect(
      Configuration.load(from: folder.path).1.map(\.description) == [
        "\(folder.path)/tribuned.conf: error: cannot be read: it is a pipe"
      ])
  }

  @Test(
    "are not skipped if one, or a folder of theirs, is a broken link",
    arguments: [
      ("tribuned.conf", "error: cannot be read"), ("tribuned.conf.d/1.conf", "error: cannot be read"),
      ("tribuned.conf.d", "error: cannot be listed"), ("protocols.d", "mistake: cannot be listed"),
    ])
  func brokenLink(name: String, what: String) throws {
    let folder = try TemporaryFolder()
    let link = URL(filePath: "\(folder.path)/\(name)")
    try FileManager.default.createDirectory(
      at: link.deletingLastPathComponent(), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "/nowhere")
    #expect(
      Configuration.load(from: folder.path).1.map(\.description) == [
        "\(folder.path)/\(name): \(what): No such file or directory"
      ])
  }

  @Test("may be links to /dev/null, which is empty")
  func masked() throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder.path)/tribuned.conf", withDestinationPath: "/dev/null")
    #expect(Configuration.load(from: folder.path).1 == [])
  }

  @Test("include a shipped one that lists exactly the defaults")
  func shippedFile() throws {
    let text = try repositoryText("config/tribuned.conf")

    let shown = text.split(separator: "\n").compactMap { line -> String? in
      if line.hasPrefix("[") { return String(line) }
      guard line.hasPrefix("#"), !line.hasPrefix("# "), line.contains("=") else { return nil }
      return String(line.dropFirst())
    }
    let sections = Configuration.sections.filter { !$0.hasSubject }
    var listed: [String] = []
    for section in sections { listed += ["[\(section.name)]"] + section.settings.map(\.name) }
    #expect(shown.map { line in String(line.prefix { $0 != "=" }) } == listed)

    for lines in [text, shown.joined(separator: "\n")] {
      var reader = ConfigurationReader(defaults: Configuration())
      reader.read(Array(lines.utf8), file: "tribuned.conf")
      let (configuration, diagnostics) = reader.finish()
      #expect(configuration == Configuration())
      #expect(diagnostics == [])
    }
  }
}
