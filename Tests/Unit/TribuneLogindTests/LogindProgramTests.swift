// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneService

@testable import TribuneLogind

@Suite("tribune-logind as a process")
struct LogindProgramTests {
  @Test("fails if it is ended before it has unmasked its targets")
  func endedEarly() async {
    await #expect(processExitsWith: .exitCode(1)) {
      let arguments = try ServiceArguments(parsing: ["--unmask"], flags: ["--unmask"])
      try await LogindProgram(LogindSettings(), arguments).stop()
    }
  }
}
