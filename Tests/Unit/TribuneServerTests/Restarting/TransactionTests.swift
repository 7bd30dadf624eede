// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport

@testable import TribuneServer

@Suite("A transaction", .timeLimit(.minutes(15)))
struct TransactionTests {
  @Test("does not begin within another one, and is committed as a whole, before any queue is written")
  func nested() async {
    await #expect(processExitsWith: .success) { @MainActor in
      let bus = try SteppedBus()
      for _ in 0..<2 { bus.server.interpreter.perform {} }
    }
    await #expect(processExitsWith: .failure) { @MainActor in
      let interpreter = try SteppedBus().server.interpreter
      interpreter.perform { interpreter.perform {} }
    }
    await #expect(processExitsWith: .failure) { @MainActor in
      let bus = try SteppedBus()
      bus.server.interpreter.perform { bus.server.recorder.commit() }
    }
    await #expect(processExitsWith: .failure) { @MainActor in
      let bus = try SteppedBus()
      let session = try bus.session(of: try bus.client())
      bus.server.interpreter.perform { bus.server.sender.flush(session) }
    }
  }
}
