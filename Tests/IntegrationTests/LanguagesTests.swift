// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tribune

/// The programs in the README's section "In your language" do what it says, as they stand there.
@Suite("The README's programs in each language", .timeLimit(.minutes(5)))
struct LanguagesTests {
  enum Language: String, CaseIterable {
    case shell, swift, python, c, varlink
  }

  private let folder: TestFolder
  private let bus: TestBus
  private var socket: String { "\(bus.path).varlink" }

  init() throws {
    folder = try TestFolder()
    let path = "\(folder.path)/bus"
    bus = try TestBus(arguments: ["--listen=\(path)", "--varlink=\(path).varlink"], folder: folder)
  }

  @Test("the observer prints what is posted", arguments: Language.allCases)
  func observes(language: Language) async throws {
    let connection = try await bus.connect()
    let observer = try start("observer", language)
    while try await connection.observations().isEmpty { try requireRunning(observer) }
    try await connection.post("backup.didFinish", object: "volume/home")
    #expect(try observer.nextLine() == "backup.didFinish volume/home")
  }

  @Test("the delegate vetoes", arguments: Language.allCases)
  func vetoes(language: Language) async throws {
    let connection = try await bus.connect()
    let delegate = try start("delegate", language)
    while try await connection.delegates().isEmpty { try requireRunning(delegate) }
    let verdict = try await connection.ask("host.shouldReboot")
    #expect(!verdict.isAllowed)
    #expect(verdict.outcomes.map(\.label) == ["backup"])
    #expect(verdict.outcomes.map(\.reason) == ["the nightly backup is at 40 %"])
  }

  @Test("each program has fewer than 15 lines")
  func lengths() throws {
    let programs = try Self.programs()
    #expect(programs.count == 2 * Language.allCases.count)
    for program in programs { #expect(program.split(separator: "\n").count < 15, "\(program)") }
  }

  /// Their texts: for each language in the order of the section, the observer and the delegate.
  private static func programs() throws -> [String] {
    let readme = try Script.text(of: "README.md")
    let section = try #require(readme.components(separatedBy: "\n## In your language\n").dropFirst().first)
      .components(separatedBy: "\n## ")[0]
    let parts = section.components(separatedBy: "```")
    // Each begins with the name of its language.
    return stride(from: 1, to: parts.count, by: 2).map { part in
      String(parts[part].drop { $0 != "\n" }.dropFirst())
    }
  }

  private func requireRunning(_ program: RunningProgram) throws {
    guard program.process.isRunning else {
      throw Programs.Missing(description: "the program has ended: \(try program.errors.rest())")
    }
  }

  private func start(_ name: String, _ language: Language) throws -> RunningProgram {
    let position = try #require(Language.allCases.firstIndex(of: language))
    let text = try Self.programs()[2 * position + (name == "observer" ? 0 : 1)]
    let environment = ["TRIBUNE_ADDRESS": bus.address]
    switch language {
    case .shell:
      return try RunningProgram(
        ["/bin/bash", "-c", "PATH=\(Programs.folder()):$PATH; \(text)"], environment: environment)
    case .swift:
      let file = "Examples/Languages/\(name.capitalized)/main.swift"
      #expect(try Script.text(of: file).hasSuffix("\n\n" + text))
      return try ExamplePrograms.start("backup-\(name)", on: bus)
    case .python, .varlink:
      try folder.write(
        text.replacing("unix:/run/tribune/io.tribune.Bus", with: "unix:\(socket)"), to: "program.py")
      return try OtherLanguages.python("\(folder.path)/program.py", environment: environment)
    case .c:
      try folder.write(text, to: "program.c")
      try OtherLanguages.compile("\(folder.path)/program.c", to: "\(folder.path)/program")
      return try RunningProgram(
        ["/usr/bin/stdbuf", "-oL", "\(folder.path)/program"], environment: environment)
    }
  }
}
