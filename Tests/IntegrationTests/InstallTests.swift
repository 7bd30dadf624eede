// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("make install") struct InstallTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  @Test(
    "puts each thing into its place",
    arguments: [
      "usr/bin/tribuned", "usr/bin/tribunectl", "usr/lib/systemd/system/tribuned.service",
      "usr/lib/systemd/system/tribuned.socket", "usr/lib/systemd/user/tribuned.service",
      "usr/lib/systemd/user/tribuned.socket", "usr/lib/sysusers.d/tribune.conf",
      "usr/lib/systemd/catalog/tribune.catalog", "usr/lib/systemd/system/tribune-delegates.service",
      "etc/tribune/delegates.d", "etc/tribune/protocols.d", "etc/tribune/tribuned.conf",
      "usr/share/tribune/tribune.lua", "usr/share/doc/tribune/LICENSE", "usr/share/doc/tribune/PROTOCOL.md",
      "usr/share/doc/tribune/ANNOUNCEMENTS.md", "usr/share/doc/tribune/CONVERSATION.md",
      "usr/share/doc/tribune/LISTING.md",
      "usr/share/doc/tribune/example.protocol", "usr/share/doc/tribune/examples/molly-guard/40-tribune",
      "etc/tribune/tribuned.conf.d", "usr/share/man/man1/tribunectl.1", "usr/share/man/man8/tribuned.8",
      "usr/share/man/man5/tribuned.conf.5", "usr/share/bash-completion/completions/tribunectl",
      "usr/share/zsh/site-functions/_tribunectl", "usr/share/fish/vendor_completions.d/tribunectl.fish",
    ])
  func places(_ file: String) async throws {
    try await folder.make("install")
    #expect(folder.contains("root/\(file)"))
  }

  @Test("gives the units the folder of the programs", arguments: ["system", "user"])
  func units(_ manager: String) async throws {
    try await folder.make("install")
    let unit = try folder.read("root/usr/lib/systemd/\(manager)/tribuned.service")
    #expect(unit.contains("ExecStart=/usr/bin/tribuned"))
    #expect(!unit.contains("@bindir@"))
  }

  @Test("tells the bus where its configuration is", arguments: ["system", "user"])
  func configurationFolder(_ manager: String) async throws {
    try await folder.make("install", ["SYSCONFDIR=/opt/etc"])
    #expect(folder.contains("root/opt/etc/tribune/tribuned.conf"))
    let unit = try folder.read("root/usr/lib/systemd/\(manager)/tribuned.service")
    #expect(unit.contains(/\nExecStart=\/usr\/bin\/tribuned .*--config=\/opt\/etc\/tribune\n/))
  }

  @Test("gives the delegates' unit their folder") func delegates() async throws {
    try await folder.make("install")
    let unit = try folder.read("root/usr/lib/systemd/system/tribune-delegates.service")
    #expect(
      unit.contains("\nExecStart=/usr/bin/tribunectl delegate --directory=/etc/tribune/delegates.d\n"))
    #expect(!unit.contains("dir@"))
  }

  @Test("installs every example unit, with what depends on where things are") func exampleUnits() async throws
  {
    try await folder.make("install")
    let examples = Script.repository.appending(path: "systemd/examples").path
    for example in try FileManager.default.subpathsOfDirectory(atPath: examples) {
      let installed = try folder.read("root/usr/share/doc/tribune/examples/\(example)")
      #expect(!installed.contains("dir@"), "\(example)")
    }
  }

  @Test("puts nothing into /etc but the configuration") func configuration() async throws {
    try await folder.make("install")
    let files = try FileManager.default.subpathsOfDirectory(atPath: "\(folder.path)/root/etc")
    #expect(
      Set(files) == [
        "tribune", "tribune/tribuned.conf", "tribune/tribuned.conf.d", "tribune/delegates.d",
        "tribune/protocols.d",
      ])
  }

  @Test(
    "leaves delegates and protocols alone, and so does uninstall",
    arguments: ["delegates.d/host.shouldReboot/10-backup", "protocols.d/view.protocol"])
  func keeps(_ file: String) async throws {
    try folder.write("#!/bin/sh\n", to: "root/etc/tribune/\(file)")
    try await folder.make("install")
    try await folder.make("uninstall")
    #expect(folder.contains("root/etc/tribune/\(file)"))
  }

  @Test("leaves a changed configuration alone, and so does uninstall") func keepsConfiguration() async throws
  {
    let configuration = "root/etc/tribune/tribuned.conf"
    try folder.write("[Log]\nLevel=debug\n", to: configuration)
    try await folder.make("install")
    #expect(try folder.read(configuration) == "[Log]\nLevel=debug\n")
    try await folder.make("uninstall")
    #expect(try folder.read(configuration) == "[Log]\nLevel=debug\n")
  }

  @Test("is undone by uninstall") func uninstalls() async throws {
    try await folder.make("install")
    try await folder.make("uninstall")
    let left = try await Script.run(["find", "\(folder.path)/root", "-type", "f"])
    #expect(left.output == "")
    #expect(!folder.contains("root/usr/share/tribune"))
    #expect(!folder.contains("root/etc/tribune"))
  }
}
