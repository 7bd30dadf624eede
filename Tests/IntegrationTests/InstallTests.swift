// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("make install") struct InstallTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func make(_ target: String) async throws {
    let programs = URL(fileURLWithPath: try Programs.path(of: "tribuned")).deletingLastPathComponent().path
    let made = try await Script.run(
      ["make", target, "DESTDIR=\(folder.path)/root", "PREFIX=/usr", "RELEASE=\(programs)"])
    #expect(made.status == 0, "\(made.output)")
  }

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
      "usr/share/doc/tribune/LISTING.md", "usr/share/doc/tribune/example.protocol",
    ])
  func places(_ file: String) async throws {
    try await make("install")
    #expect(folder.contains("root/\(file)"))
  }

  @Test("gives the units the folder of the programs", arguments: ["system", "user"])
  func units(_ manager: String) async throws {
    try await make("install")
    let unit = try folder.read("root/usr/lib/systemd/\(manager)/tribuned.service")
    #expect(unit.contains("ExecStart=/usr/bin/tribuned"))
    #expect(!unit.contains("@bindir@"))
  }

  @Test("gives the delegates' unit their folder") func delegates() async throws {
    try await make("install")
    let unit = try folder.read("root/usr/lib/systemd/system/tribune-delegates.service")
    #expect(
      unit.contains("\nExecStart=/usr/bin/tribunectl delegate --directory=/etc/tribune/delegates.d\n"))
    #expect(!unit.contains("dir@"))
  }

  @Test(
    "leaves delegates and protocols alone, and so does uninstall",
    arguments: ["delegates.d/host.shouldReboot/10-backup", "protocols.d/view.protocol"])
  func keeps(_ file: String) async throws {
    try folder.write("#!/bin/sh\n", to: "root/etc/tribune/\(file)")
    try await make("install")
    try await make("uninstall")
    #expect(folder.contains("root/etc/tribune/\(file)"))
  }

  @Test("leaves a changed configuration alone, and so does uninstall") func keepsConfiguration() async throws
  {
    let configuration = "root/etc/tribune/tribuned.conf"
    try folder.write("[Log]\nLevel=debug\n", to: configuration)
    try await make("install")
    #expect(try folder.read(configuration) == "[Log]\nLevel=debug\n")
    try await make("uninstall")
    #expect(try folder.read(configuration) == "[Log]\nLevel=debug\n")
  }

  @Test("is undone by uninstall") func uninstalls() async throws {
    try await make("install")
    try await make("uninstall")
    let left = try await Script.run(["find", "\(folder.path)/root", "-type", "f"])
    #expect(left.output == "")
    #expect(!folder.contains("root/usr/share/tribune"))
    #expect(
      !folder.contains("root/etc/tribune/protocols.d") && !folder.contains("root/etc/tribune/delegates.d"))
  }
}
