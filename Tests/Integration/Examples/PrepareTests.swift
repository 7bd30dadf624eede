// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@Suite("The example with two services that prepare and undo", .timeLimit(.minutes(15)))
struct PrepareTests {
  private let bus: TestBus
  private let folder: TestFolder

  init() throws {
    bus = try TestBus()
    folder = try TestFolder()
  }

  private var prepared: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
  }

  @Test("preparations stay for an allowed reboot, and are undone for a vetoed one")
  func endings() throws {
    let delegates = try bus.start(
      ["delegate", "--directory=\(Script.repository.path)/Examples/prepare"],
      environment: ["prepared": folder.path])
    #expect(try delegates.errors.line()?.contains("2 delegates") == true)
    #expect(try bus.tribunectl("ask", "host.shouldReboot", "--dry-run").status == 0)
    #expect(try prepared.isEmpty)
    let allowed = try bus.tribunectl("-j", "ask", "host.shouldReboot")
    #expect(allowed.status == 0)
    let query = try #require(try allowed.object()["query"] as? Int)
    let files = ["database-\(query)", "proxy-\(query)"]
    #expect(try prepared == files)
    try folder.write("", to: "backup")
    let vetoed = try bus.tribunectl("ask", "host.shouldReboot", "--mode=all")
    #expect(vetoed.status == 1 && vetoed.output.contains("a backup reads the database"))
    #expect(delegates.end(SIGTERM) == 0)
    #expect(try prepared == ["backup"] + files)
    #expect(try delegates.errors.rest() == "")
  }
}
