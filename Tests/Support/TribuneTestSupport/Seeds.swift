// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Seeds for property tests: some fixed ones, and a fresh one, which `TRIBUNE_TEST_SEED` can set. A failure shows it.
package enum Seeds {
  /// With `TRIBUNE_TESTS_LONG`, four times as many.
  package static let all: [UInt64] = Array(1...(isLong ? 11 : 2)) + [fresh]

  package static var isLong: Bool { unsafe getenv("TRIBUNE_TESTS_LONG") != nil }

  private static var fresh: UInt64 {
    guard let text = unsafe getenv("TRIBUNE_TEST_SEED") else { return .random(in: .min ... .max) }
    guard let seed = UInt64(unsafe String(cString: text)) else {
      preconditionFailure("TRIBUNE_TEST_SEED is not a number")
    }
    return seed
  }
}
