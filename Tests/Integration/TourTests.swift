// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("The tour") struct TourTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func run(_ text: String) async throws -> Script {
    try folder.write(text, to: "TOUR.md")
    return try await Script.run(
      ["tools/run-tour", "--programs=\(try Programs.folder())", "\(folder.path)/TOUR.md"])
  }

  @Test("prints the document's output") func asPrinted() async throws {
    let tour = try await run(Script.text(of: "docs/TOUR.md"))
    #expect(tour.status == 0, "\(tour.output)")
  }

  @Test("fails if a command prints something else")
  func otherwise() async throws {
    let shown = "exit status 77"
    let text = try Script.text(of: "docs/TOUR.md")
    try #require(text.contains(shown))
    let tour = try await run(text.replacingOccurrences(of: shown, with: "exit status 0"))
    #expect(tour.status == 1)
    #expect(tour.output.contains("not as shown: exit status 0"), "\(tour.output)")
  }

  @Test("fails if a command prints more than the document")
  func more() async throws {
    let tour = try await run("## A tour\n```sh\necho one; echo two\n```\n```text\none\n```\n")
    #expect(tour.status == 1)
    #expect(tour.output.contains("2 lines, not 1"), "\(tour.output)")
  }

  @Test("fails without commands") func empty() async throws {
    let tour = try await run("# Tribune\n")
    #expect(tour.status == 2)
  }
}
