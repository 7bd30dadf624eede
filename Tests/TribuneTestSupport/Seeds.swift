// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The seeds that a property is tried with: some that are always the same, and one that is new each time
/// unless `TRIBUNE_TEST_SEED` names it. A failure shows the seed as the test's argument.
package enum Seeds {
  package static let all: [UInt64] = Array(1...8) + [fresh]

  private static var fresh: UInt64 {
    guard let text = unsafe getenv("TRIBUNE_TEST_SEED") else { return .random(in: .min ... .max) }
    guard let seed = UInt64(unsafe String(cString: text)) else {
      preconditionFailure("TRIBUNE_TEST_SEED is no number")
    }
    return seed
  }
}
