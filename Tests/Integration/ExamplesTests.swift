// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tribune

@Suite("The examples", .timeLimit(.minutes(15)))
struct ExamplesTests {
  @Test("the steward vetoes while a restore runs, and the observer prints what happened")
  func examples() async throws {
    let bus = try TestBus()
    let connection = try await bus.connect()
    let observer = try ExamplePrograms.start("observer", "archive/photos", on: bus)
    let steward = try ExamplePrograms.start("steward", on: bus)
    #expect(try observer.nextLine().hasPrefix("observing as :"))
    #expect(try steward.nextLine().hasPrefix("attached as :"))

    #expect(try await connection.ask("archive.shouldPrune").isAllowed)
    #expect(try await connection.postAwaited("restore.begins").missing.isEmpty)
    let verdict = try await connection.ask("archive.shouldPrune")
    #expect(!verdict.isAllowed)
    #expect(verdict.outcomes.map(\.reason) == ["restores under way: 1"])
    #expect(verdict.outcomes.map(\.label) == ["steward"])
    #expect(try await connection.postAwaited("restore.ends").missing.isEmpty)
    #expect(try await connection.ask("archive.shouldPrune").isAllowed)

    try await connection.post("archive.didPrune", object: "archive/music")
    try await connection.post("archive.didPrune", object: "archive/photos", userInfo: #"{"freed": 7}"#)
    #expect(try observer.nextLine() == #"archive.didPrune archive/photos {"freed": 7}"#)

    bus.stop()
    #expect(try observer.nextLine().hasSuffix("(shuttingDown)"))
    #expect(try steward.nextLine().hasSuffix("(shuttingDown)"))
    #expect(observer.status() == 1)
    #expect(steward.status() == 1)
  }

  @Test("each example is short, with a comment about its purpose and how to try it", arguments: try sources())
  func source(file: String) throws {
    let text = try String(contentsOf: ExamplePrograms.folder.appending(path: file), encoding: .utf8)
    let isFirst = file.hasPrefix("Observer/") || file.hasPrefix("Steward/")
    #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= (isFirst ? 40 : 150))
    if file.hasPrefix("JSONUserInfo") { return }
    let comment = text.split(separator: "\n").drop { !$0.hasPrefix("///") }.prefix { $0.hasPrefix("///") }
    #expect(comment.contains { $0.hasPrefix("/// Try it: ") })
  }

  @Test("the table in their README lists each example, with commands that start")
  func readme() async throws {
    let commands = try Script.text(of: "Examples/README.md").components(separatedBy: "`").filter {
      $0.hasPrefix("swift run --package-path Examples ")
    }
    let shown = Set(commands.map { $0.split(separator: " ")[4] })
    let products = try String(
      contentsOf: ExamplePrograms.folder.appending(path: "Package.swift"), encoding: .utf8
    ).matches(of: /program\("([a-z-]+)"/).map(\.1)
    #expect(shown == Set(products).subtracting(["colour-picker", "backup-observer", "backup-delegate"]))

    for command in commands {
      let bus = try TestBus()
      let program = try ExamplePrograms.start(asShown: command, on: bus)
      let line = try program.nextLine()
      #expect(!line.hasSuffix(")") && !line.hasPrefix("usage"), "\(command): \(line)")
    }
  }

  @Test(
    "names about the host, its units and its packages are well-known ones",
    arguments: ["README.md", "docs", "config", "systemd", "Examples"])
  func names(place: String) throws {
    let known = try Script.text(of: "docs/NAMES.md")
    let folder = FileManager.default.enumerator(atPath: Script.repository.appending(path: place).path)
    let files = (folder?.compactMap { $0 as? String } ?? []).map { "\(place)/\($0)" } + [place]
    var count = 0
    for file in files where !file.contains(".build") && file != "docs/NAMES.md" {
      guard let bytes = FileManager.default.contents(atPath: Script.repository.appending(path: file).path),
        let text = String(bytes: bytes, encoding: .utf8)
      else { continue }
      for match in text.matches(of: /\b(host|unit|packages|system)\.(should|will|did)[A-Z][A-Za-z0-9]*/) {
        count += 1
        #expect(match.1 != "system" && known.contains("`\(match.0)"), "\(file): \(match.0)")
      }
    }
    #expect(count > 0)
  }

  private static func sources() throws -> [String] {
    let files = FileManager.default.enumerator(atPath: ExamplePrograms.folder.path)
    return (files?.compactMap { $0 as? String } ?? []).filter {
      $0.hasSuffix(".swift") && !$0.hasPrefix(".build") && $0 != "Package.swift"
    }
  }
}
