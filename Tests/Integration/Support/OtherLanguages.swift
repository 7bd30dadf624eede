// SPDX-License-Identifier: Apache-2.0

import Foundation

enum TourProgram: String, CaseIterable {
  case observer, delegate

  enum Language: String, CaseIterable {
    case shell, swift, python, c, varlink
  }

  static func texts() throws -> [String] {
    let sections = try Script.text(of: "docs/TOUR.md").components(separatedBy: "\n## ")
    let section = sections.first { $0.hasPrefix("In your language\n") } ?? ""
    let parts = section.components(separatedBy: "```")
    return stride(from: 1, to: parts.count, by: 2).map { part in
      String(parts[part].drop { $0 != "\n" }.dropFirst())
    }
  }

  func text(in language: Language) throws -> String {
    let all = Language.allCases.flatMap { language in Self.allCases.map { (language, $0) } }
    let texts = try Self.texts()
    guard texts.count == all.count, let place = all.firstIndex(where: { $0 == (language, self) }) else {
      throw Programs.Missing(description: "the tour has \(texts.count) programs, and not \(all.count)")
    }
    return texts[place]
  }
}

enum OtherLanguages {
  static func python(
    _ path: String, _ arguments: [String] = [], environment: [String: String], input: Pipe? = nil
  ) throws -> RunningProgram {
    let python = Script.repository.appending(path: ".build/python/bin/python").path
    guard FileManager.default.isExecutableFile(atPath: python) else {
      throw Programs.Missing(description: "there is no \(python); \"make test\" makes it")
    }
    let sources = Script.repository.appending(path: "Clients/Python/src").path
    return try RunningProgram(
      [python, "-W", "error", path] + arguments,
      environment: environment.merging(["PYTHONPATH": sources, "PYTHONDONTWRITEBYTECODE": "1"]) { $1 },
      input: input)
  }

  static func compile(_ source: String, to program: String) throws {
    let library = Script.repository.appending(path: ".build/c").path
    guard FileManager.default.fileExists(atPath: "\(library)/libtribune.so") else {
      throw Programs.Missing(description: "there is no \(library)/libtribune.so; \"make test\" makes it")
    }
    let compiled = try FinishedProgram([
      "/usr/bin/cc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Werror",
      "-I\(Script.repository.appending(path: "Clients/C/include").path)", "-o", program, source,
      "-L\(library)", "-Wl,-rpath,\(library)", "-ltribune",
    ])
    guard compiled.status == 0 else { throw Programs.Missing(description: compiled.errors) }
  }
}
