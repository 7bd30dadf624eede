// SPDX-License-Identifier: Apache-2.0

import Testing

extension FinishedProgram {
  /// The outcomes of the verdict that `tribunectl -j ask` printed.
  func outcomes() throws -> [[String: Any]] { try #require(try object()["outcomes"] as? [[String: Any]]) }
}
