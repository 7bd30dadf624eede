// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tribune

@Suite("The tour's programs in each language", .timeLimit(.minutes(15)))
struct LanguagesTests {
  typealias Language = TourProgram.Language

  private let folder: TestFolder
  private let bus: TestBus

  init() throws {
    folder = try TestFolder()
    bus = try TestBus.withVarlink(in: folder)
  }

  @Test("the observer prints each post", arguments: Language.allCases)
  func observes(language: Language) async throws {
    let connection = try await bus.connect()
    let observer = try start(.observer, language)
    while try await connection.observations().isEmpty { try requireRunning(observer) }
    try await connection.post("backup.didFinish", object: "volume/home")
    #expect(try observer.nextLine() == "backup.didFinish volume/home")
  }

  @Test("the delegate vetoes", arguments: Language.allCases)
  func vetoes(language: Language) async throws {
    let connection = try await bus.connect()
    let delegate = try start(.delegate, language)
    while try await connection.delegates().isEmpty { try requireRunning(delegate) }
    _ = try await connection.ask("host.shouldReboot", deadline: .milliseconds(1))
    let verdict = try await connection.ask("host.shouldReboot")
    #expect(!verdict.isAllowed)
    #expect(verdict.outcomes.map(\.label) == ["backup"])
    #expect(verdict.outcomes.map(\.reason) == ["the nightly backup is at 40 %"])
  }

  @Test("each program has fewer than 15 lines")
  func lengths() throws {
    let programs = try TourProgram.texts()
    #expect(programs.count == 2 * Language.allCases.count)
    for program in programs { #expect(program.count { $0 == "\n" } < 15, "\(program)") }
  }

  private func requireRunning(_ program: RunningProgram) throws {
    guard program.process.isRunning else {
      throw Programs.Missing(description: "the program has ended: \(try program.errors.rest())")
    }
  }

  private func start(_ program: TourProgram, _ language: Language) throws -> RunningProgram {
    let text = try program.text(in: language)
    let environment = ["TRIBUNE_ADDRESS": bus.address]
    switch language {
    case .shell:
      return try RunningProgram(
        ["/bin/bash", "-c", "PATH=\(Programs.folder()):$PATH; \(text)"], environment: environment)
    case .swift:
      let file = "Examples/Languages/\(program.rawValue.capitalized)/main.swift"
      #expect(try Script.text(of: file).hasSuffix("\n\n" + text))
      return try ExamplePrograms.start("backup-\(program)", on: bus)
    case .python, .varlink:
      try folder.write(
        text.replacing("unix:/run/tribune/io.tribune.Bus", with: "unix:\(bus.varlinkPath)"), to: "program.py")
      return try OtherLanguages.python("\(folder.path)/program.py", environment: environment)
    case .c:
      try folder.write(text, to: "program.c")
      try OtherLanguages.compile("\(folder.path)/program.c", to: "\(folder.path)/program")
      return try RunningProgram(["\(folder.path)/program"], environment: environment)
    }
  }
}
