// SPDX-License-Identifier: Apache-2.0

package struct Retries: Sendable {
  private static let pauses = [Duration.milliseconds(100), .milliseconds(500), .seconds(1), .seconds(5)]

  private let longest: Duration
  private var failures = 0

  package init(longest: Duration = .seconds(5)) { self.longest = longest }

  /// True until the first `pause()`, and again after a `reset()`. Callers log a failure only if this is true.
  package var isFirst: Bool { failures == 0 }

  package mutating func reset() { failures = 0 }

  package mutating func pause() async {
    let pause = Self.pauses[min(failures, Self.pauses.count - 1)]
    failures += 1
    await rest(for: min(pause, longest))
  }
}
