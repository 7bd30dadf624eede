// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneTestSupport

@Suite("The release programs", .timeLimit(.minutes(15)))
struct ReleaseTests {
  @Test("an idle daemon is at most 8 MiB resident")
  func memory() throws {
    // The kernel may map further pages of the program from its page cache, so the minimum is the daemon's own.
    let starts = try (0..<5).map { _ in
      let bus = try TestBus(environment: ["WATCHDOG_USEC": "50000"])
      // When the run loop turns, the daemon has freed its startup memory.
      try bus.notifySocket.wait(for: "WATCHDOG=1")
      return try bus.processStatus("VmRSS")
    }
    #expect(try #require(starts.min()) <= 8192)
  }

  @Test("neither daemon nor client contains Foundation", arguments: ["tribuned", "tribunectl"])
  func noFoundation(program: String) throws {
    let path = try Programs.path(of: program)
    let libraries = try FinishedProgram(["ldd", path])
    #expect(libraries.status == 0)
    #expect(libraries.output.contains("libc.so"))
    #expect(!libraries.output.contains("Foundation"))
    // Swift's libraries are linked statically: only symbols would show them.
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(bytes.range(of: Data("$s11TribuneWire".utf8)) != nil)
    #expect(bytes.range(of: Data("$s10Foundation".utf8)) == nil)
  }
}
