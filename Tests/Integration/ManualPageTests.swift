// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("The man pages", .serialized) struct ManualPageTests {
  private let folder: TestFolder

  init() async throws {
    folder = try TestFolder()
    try await folder.make("install")
  }

  private static let pages =
    ["man1/tribunectl.1"] + configured + [
      "man7/tribune-varlink.7", "man8/tribune-logind.8", "man8/tribune-web.8", "man8/tribune-nats.8",
    ]
  private static let configured = ["man8/tribuned.8", "man5/tribuned.conf.5", "man5/tribune-policy.5"]
  private static let readable = ["LC_ALL": "C.UTF-8", "MANWIDTH": "1000", "MAN_KEEP_FORMATTING": ""]

  private func file(_ page: String) -> String { "\(folder.path)/root/usr/share/man/\(page)" }

  private func read(_ page: String) throws -> String {
    let man = try FinishedProgram(
      ["man", "--no-justification", "-l", file(page)], environment: Self.readable)
    #expect(man.status == 0, "\(man.errors)")
    return man.output
  }

  @Test("cause no warnings of man or groff")
  func warnings() throws {
    for page in Self.pages {
      let man = try FinishedProgram(["man", "--warnings", "-l", file(page)], environment: Self.readable)
      #expect(man.errors == "")
      try FinishedProgram(["groff", "-ww", "-z", "-Tutf8", "-Kutf8", "-man", file(page)])
        .expect(0, errors: "")
    }
  }

  @Test("cause a warning if they have a mistake") func warningIsSeen() throws {
    try folder.write(".TH A 1\n.SH NAME\na \\- b\n.nonsense\n", to: "root/usr/share/man/man1/a.1")
    let man = try FinishedProgram(["man", "--warnings", "-l", file("man1/a.1")], environment: Self.readable)
    #expect(man.errors.contains("nonsense"))
  }

  @Test("have the version, and a name for the index")
  func headers() throws {
    let version = try FinishedProgram.tribuned(["--version"]).output.split(whereSeparator: \.isWhitespace)[1]
    for page in Self.pages {
      let text = try read(page)
      let name = page.split(separator: "/")[1].split(separator: ".").dropLast().joined(separator: ".")
      #expect(text.contains("\nNAME\n       \(name) - "), "\(page)")
      #expect(text.contains("Tribune \(version)"), "\(page)")
    }
  }

  @Test("name the variables by which clients find the bus")
  func environment() throws {
    let text = try read("man1/tribunectl.1")
    for name in ["TRIBUNE_ADDRESS", "RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR"] {
      #expect(text.contains(name), "\(name)")
    }
  }

  @Test("have the default folder before they are installed")
  func uninstalled() throws {
    for page in Self.pages {
      let source = try Script.text(of: "docs/man/\(page.split(separator: "/")[1]).in")
      #expect(!source.contains("dir@"), "\(page)")
    }
  }

  @Test("have the folder in which the configuration was installed")
  func configurationFolder() async throws {
    for page in Self.configured { #expect(try read(page).contains("\n       /etc/tribune\n"), "\(page)") }
    try await folder.make("install", ["SYSCONFDIR=/opt/etc-of-mine"])
    for page in Self.configured {
      let moved = try read(page)
      #expect(moved.contains("\n       /opt/etc-of-mine/tribune\n"), "\(page)")
      // tribuned's compiled-in default is /etc/tribune.
      #expect(moved.contains("/etc/tribune") == (page == "man8/tribuned.8"), "\(page)")
      #expect(!moved.contains("dir@"), "\(page)")
    }
  }

  @Test("tribune-policy(5) has each action, as its own item")
  func actions() throws {
    try folder.write("allow fly ** user:*\n", to: "1.policy")
    let verified = try FinishedProgram([
      try Programs.path(of: "tribunectl"), "verify", "\(folder.path)/1.policy",
    ])
    let known = try #require(verified.errors.firstMatch(of: /there are (.+)/)).1
      .split(separator: ", ").map { String($0) }
    let page = try read(Self.pages[3])
    let section = try #require(page.firstMatch(of: /(?s)\nACTIONS\n(.+?)\nDECISIONS\n/)).1
    #expect(section.matches(of: /(?m)^       ([a-z]+)/).map { String($0.1) } == known)
  }

  @Test("tribune-policy(5) has valid examples, and their expectations are met")
  func policyExamples() throws {
    let page = try read(Self.pages[3])
    let lines = page.split(separator: "\n").map { $0.drop { $0 == " " } }
    let policy = lines.filter { $0.contains(/^(allow|deny) [^ ]+ .*(user|group|unit):[^ ]+$/) }
    let tests = lines.filter { $0.contains(/^expect (allow|deny) [a-z]/) }
    #expect(policy.count > 5 && tests.count > 5)
    try folder.write(policy.joined(separator: "\n") + "\n", to: "1.policy")
    try folder.write(tests.joined(separator: "\n") + "\n", to: "1.test")
    let files = ["1.policy", "1.test"].map { "\(folder.path)/\($0)" }
    try FinishedProgram([try Programs.path(of: "tribunectl"), "verify"] + files).expect(0, errors: "")
  }

  @Test("the pages of the services list their options")
  func services() throws {
    for program in ["tribuned", "tribune-logind", "tribune-web", "tribune-nats"] {
      let help = try FinishedProgram([try Programs.path(of: program), "--help"]).output
      let page = try read("man8/\(program).8")
      let listed = page.matches(of: /(?m)^       (--[a-z-]+)/).map { String($0.1) }
      #expect(listed == help.matches(of: /(?m)^  (--[a-z-]+)/).map { String($0.1) }, "\(program)")
      #expect(!listed.isEmpty)
    }
  }

  @Test(
    "tribuned.conf(5) has each section and key of the shipped file, with its default and its comment")
  func configuration() throws {
    let page = try read(Self.pages[2])
    var keys = 0
    for line in try Script.text(of: "config/tribuned.conf").split(separator: "\n") {
      if line.hasPrefix("[") {
        #expect(page.contains("\n\(line)\n"))
      } else if line.hasPrefix("#   ") {
        #expect(page.contains(line.dropFirst(4)), "\(line)")
      } else if line.hasPrefix("# "), !line.contains("SPDX") {
        #expect(page.contains(line.dropFirst(2)), "\(line)")
      } else if line != "#", !line.hasPrefix("# ") {
        keys += 1
        #expect(page.contains("\n       \(line.dropFirst())\n"), "\(line)")
      }
    }
    #expect(keys > 20)
  }
}
