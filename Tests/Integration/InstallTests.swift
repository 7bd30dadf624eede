// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("make install") struct InstallTests {
  private let folder: TestFolder

  init() async throws {
    folder = try TestFolder()
    try await folder.make("install")
  }

  @Test("puts each file into its folder") func places() {
    for file in [
      "usr/bin/tribuned", "usr/bin/tribunectl", "usr/bin/tribune-logind", "usr/bin/tribune-web",
      "usr/bin/tribune-nats",
      "usr/lib/systemd/system/tribune-web.service", "usr/lib/systemd/system/tribune-web.socket",
      "etc/tribune/web.conf", "etc/tribune/policy.d/60-web.policy", "usr/share/man/man8/tribune-web.8",
      "usr/share/tribune/web/index.html", "usr/share/tribune/web/page.js", "usr/share/doc/tribune/WEB.md",
      "usr/lib/systemd/system/tribune-logind.service", "etc/tribune/logind.conf", "etc/tribune/signals.conf",
      "usr/lib/systemd/system/tribune-nats.service", "usr/lib/systemd/system/tribune-fleetlock.socket",
      "etc/tribune/nats.conf", "usr/share/man/man8/tribune-nats.8",
      "etc/tribune/policy.d/70-nats.policy", "usr/share/doc/tribune/CLUSTER.md",
      "usr/share/man/man8/tribune-logind.8", "usr/share/doc/tribune/HOST.md",
      "usr/lib/systemd/system/tribuned.service",
      "usr/lib/systemd/system/tribuned.socket", "usr/lib/systemd/user/tribuned.service",
      "usr/lib/systemd/system/tribuned-varlink.socket", "usr/share/man/man7/tribune-varlink.7",
      "usr/lib/systemd/user/tribuned-varlink.socket", "usr/lib/systemd/user/tribuned.socket",
      "usr/lib/sysusers.d/tribune.conf",
      "usr/lib/systemd/catalog/tribune.catalog", "usr/lib/systemd/system/tribune-delegates.service",
      "etc/tribune/delegates.d", "etc/tribune/protocols.d", "etc/tribune/tribuned.conf",
      "etc/tribune/policy.d/50-default.policy",
      "usr/share/man/man5/tribune-policy.5", "usr/share/tribune/tribune-frames.lua",
      "usr/share/tribune/tribune.lua", "usr/share/doc/tribune/LICENSE", "usr/share/doc/tribune/PROTOCOL.md",
      "usr/share/doc/tribune/ANNOUNCEMENTS.md",
      "usr/share/doc/tribune/LISTING.md", "usr/share/doc/tribune/ACCESS.md",
      "usr/share/doc/tribune/example.protocol", "usr/share/doc/tribune/examples/molly-guard/40-tribune",
      "etc/tribune/tribuned.conf.d", "usr/share/man/man1/tribunectl.1", "usr/share/man/man8/tribuned.8",
      "usr/share/man/man5/tribuned.conf.5", "usr/share/bash-completion/completions/tribunectl",
      "usr/share/zsh/site-functions/_tribunectl", "usr/share/fish/vendor_completions.d/tribunectl.fish",
    ] { #expect(folder.contains("root/\(file)"), "\(file)") }
  }

  @Test("gives the units the folders of the programs and the configuration") func units() async throws {
    try await folder.make("install", ["SYSCONFDIR=/opt/etc"])
    #expect(folder.contains("root/opt/etc/tribune/tribuned.conf"))
    for (unit, start) in [
      ("system/tribuned", "tribuned .*--config=/opt/etc/tribune"),
      ("user/tribuned", "tribuned .*--config=/opt/etc/tribune"),
      ("system/tribune-delegates", "tribunectl delegate --directory=/opt/etc/tribune/delegates.d"),
      ("system/tribune-logind", "tribune-logind --config=/opt/etc/tribune"),
      ("system/tribune-web", "tribune-web --config=/opt/etc/tribune --page=/usr/share/tribune/web"),
    ] {
      let text = try folder.read("root/usr/lib/systemd/\(unit).service")
      #expect(text.contains(try Regex("\nExecStart=/usr/bin/\(start)\n")), "\(unit)")
      #expect(!text.contains("dir@"), "\(unit)")
    }
  }

  @Test("installs every example, with the folders filled in") func examples() throws {
    let examples = Script.repository.appending(path: "systemd/examples").path
    for example in try FileManager.default.subpathsOfDirectory(atPath: examples) {
      let installed = try folder.read("root/usr/share/doc/tribune/examples/\(example)")
      #expect(!installed.contains("dir@"), "\(example)")
    }
  }

  @Test("installs the examples for apt as they are") func apt() throws {
    let files = FileManager.default
    let examples = Script.repository.appending(path: "Examples/apt").path
    for example in try files.contentsOfDirectory(atPath: examples) {
      let installed = "root/usr/share/doc/tribune/examples/apt/\(example)"
      #expect(try folder.read(installed) == Script.text(of: "Examples/apt/\(example)"))
      #expect(
        files.isExecutableFile(atPath: "\(folder.path)/\(installed)")
          == files.isExecutableFile(atPath: "\(examples)/\(example)"), "\(example)")
    }
  }

  @Test("puts only the configuration into /etc") func configuration() throws {
    let files = try FileManager.default.subpathsOfDirectory(atPath: "\(folder.path)/root/etc")
    #expect(
      Set(files) == [
        "tribune", "tribune/tribuned.conf", "tribune/tribuned.conf.d", "tribune/delegates.d",
        "tribune/protocols.d", "tribune/policy.d", "tribune/policy.d/50-default.policy",
        "tribune/logind.conf",
        "tribune/logind.conf.d", "tribune/signals.conf", "tribune/signals.conf.d", "tribune/web.conf",
        "tribune/web.conf.d", "tribune/policy.d/60-web.policy", "tribune/nats.conf",
        "tribune/nats.conf.d", "tribune/policy.d/70-nats.policy",
      ])
  }

  @Test("leaves the administrator's files alone; uninstall does too") func keeps() async throws {
    let files = [
      "tribuned.conf", "delegates.d/host.shouldReboot/10-backup", "protocols.d/view.protocol",
      "policy.d/50-default.policy", "logind.conf", "signals.conf", "web.conf", "policy.d/60-web.policy",
      "nats.conf", "policy.d/70-nats.policy",
    ].map { "root/etc/tribune/\($0)" }
    for file in files { try folder.write("its own \(file)", to: file) }
    for target in ["install", "uninstall"] {
      try await folder.make(target)
      for file in files { #expect(try folder.read(file) == "its own \(file)") }
    }
  }

  @Test("the installed policies are valid", arguments: ["50-default", "60-web", "70-nats"])
  func policies(_ name: String) throws {
    let etc = try TestFolder()
    try etc.write(try Script.text(of: "config/\(name).policy"), to: "policy.d/\(name).policy")
    let checked = try FinishedProgram.tribuned(["--check-config", "--config=\(etc.path)"])
    checked.expect(0)
  }

  @Test("is undone by uninstall") func uninstalls() async throws {
    try await folder.make("uninstall")
    let left = try await Script.run(["find", "\(folder.path)/root", "-type", "f"])
    #expect(left.output == "")
    #expect(!folder.contains("root/usr/share/tribune"))
    #expect(!folder.contains("root/etc/tribune"))
  }
}
