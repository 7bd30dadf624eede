// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// What the README shows is what a user sees.
@Suite("The README's tour") struct TourTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  /// Runs the tour of a README of that text.
  private func run(_ text: String) async throws -> Script {
    let programs = URL(fileURLWithPath: try Programs.path(of: "tribuned")).deletingLastPathComponent()
    try folder.write(text, to: "README.md")
    return try await Script.run(
      ["tools/run-tour", "--programs=\(programs.path)", "\(folder.path)/README.md"])
  }

  private func readme() throws -> String {
    try String(contentsOf: Script.repository.appending(path: "README.md"), encoding: .utf8)
  }

  @Test("runs as printed") func asPrinted() async throws {
    let tour = try await run(readme())
    #expect(tour.status == 0, "\(tour.output)")
  }

  @Test("is not passed when a command prints something else")
  func otherwise() async throws {
    let shown = "exit status 77"
    let text = try readme()
    try #require(text.contains(shown))
    let tour = try await run(text.replacingOccurrences(of: shown, with: "exit status 0"))
    #expect(tour.status == 1)
    #expect(tour.output.contains("not as shown: exit status 0"), "\(tour.output)")
  }

  @Test("is not passed when a command prints more than is shown")
  func more() async throws {
    let tour = try await run("## A tour\n```sh\necho one; echo two\n```\n```text\none\n```\n")
    #expect(tour.status == 1)
    #expect(tour.output.contains("2 lines, not 1"), "\(tour.output)")
  }

  @Test("is not passed without commands") func empty() async throws {
    let tour = try await run("# Tribune\n")
    #expect(tour.status == 2)
  }
}
