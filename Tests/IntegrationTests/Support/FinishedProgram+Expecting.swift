// SPDX-License-Identifier: Apache-2.0

import Testing

extension FinishedProgram {
  /// Expects this exit status, and this output and these errors if they are given.
  func expect(
    _ status: Int32, output: String? = nil, errors: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(self.status == status, "\(self)", sourceLocation: sourceLocation)
    if let output { #expect(self.output == output, sourceLocation: sourceLocation) }
    if let errors { #expect(self.errors == errors, sourceLocation: sourceLocation) }
  }

  /// The outcomes of the verdict that `tribunectl -j ask` printed.
  func outcomes() throws -> [[String: Any]] { try #require(try object()["outcomes"] as? [[String: Any]]) }
}
