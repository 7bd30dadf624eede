// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// `tribunectl hold` and `holds`, against the real daemon.
@Suite("Holds", .timeLimit(.minutes(2)))
struct HoldTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  @Test(
    "a hold vetoes with its reason, is listed and explained, can be overridden, and ends with its process")
  func hold() throws {
    let hold = try bus.staying("hold", "archive.**", "--object=photos", "--why=a restore runs")
    let vetoed = try bus.tribunectl("ask", "archive.shouldPrune", "--object=photos")
    #expect(vetoed.status == 1)
    #expect(vetoed.output.contains("held"))
    #expect(vetoed.output.contains(": a restore runs"))
    #expect(try bus.tribunectl("ask", "archive.shouldPrune").status == 0)

    let listed = try bus.tribunectl("-j", "holds").object()
    #expect(listed["pid"] as? Int == Int(hold.pid))
    let explained = try bus.tribunectl("-j", "explain", "archive.shouldPrune", "--object=photos").object()
    #expect(explained["hold"] as? Int == listed["hold"] as? Int)

    let overridden = try bus.tribunectl(
      "-j", "ask", "archive.shouldPrune", "--object=photos", "--override=it burns")
    #expect(overridden.status == 0)
    #expect(try overridden.object()["overridden"] as? Bool == true)

    #expect(hold.end(SIGTERM) == 0)
    #expect(try bus.tribunectl("ask", "archive.shouldPrune", "--object=photos").status == 0)
    #expect(try bus.tribunectl("-j", "holds").output == "")
  }

  @Test(
    "a command runs under the hold, which ends with it and has its exit status",
    arguments: [
      (["sh", "-c", "exit 3"], 3), (["sh", "-c", "kill -9 $$"], 128 + SIGKILL), (["true"], 0),
      (["/nonexistent"], 127), (["/etc/passwd"], 126),
    ] as [([String], Int32)])
  func command(command: [String], status: Int32) throws {
    let result = try TestBus.tribunectl(
      ["hold", "a.shouldB", "--why=c", "--"] + command, address: bus.address)
    #expect(result.status == status)
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 0)
  }

  @Test("if the bus dies, the command goes on, and the lost hold is reported")
  func busGoes() throws {
    let program = try bus.start(
      "--reconnect=0", "hold", "a.b",
      "--why=c", "--", "sh", "-c", "trap 'exit 4' TERM; echo started; while :; do sleep 0.01; done")
    #expect(try program.errors.line()?.hasPrefix("holding a.b") == true)
    #expect(try program.output.line() == "started")
    bus.signal(SIGKILL)
    #expect(try program.errors.line()?.contains("the hold has ended; the command continues") == true)
    #expect(program.end(SIGTERM) == 4)
  }

  @Test("an expired hold is reported, and vetoes nothing")
  func expiry() throws {
    let program = try bus.staying("hold", "a.b", "--why=c", "--expires=500ms")
    #expect(try program.errors.line() == "expired a.b")
    #expect(program.status() == 0)
    #expect(try bus.tribunectl("ask", "a.b").status == 0)
    #expect(try bus.tribunectl("-j", "holds").output == "")
  }
}
