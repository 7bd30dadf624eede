// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension TestFolder {
  /// Makes a target of the Makefile, such as `install`, for what lies under `root` in this folder.
  ///
  /// - Parameter variables: of the Makefile, `NAME=VALUE`, beside where things go.
  func make(_ target: String, _ variables: [String] = [], environment: [String: String] = [:]) async throws {
    let programs = URL(fileURLWithPath: try Programs.path(of: "tribuned")).deletingLastPathComponent().path
    let made = try await Script.run(
      ["make", target, "DESTDIR=\(path)/root", "PREFIX=/usr", "RELEASE=\(programs)"] + variables,
      environment: environment)
    guard made.status == 0 else {
      throw Programs.Missing(description: "make \(target) fails: \(made.output)")
    }
  }
}
