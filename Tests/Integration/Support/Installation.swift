// SPDX-License-Identifier: Apache-2.0

extension TestFolder {
  func make(_ target: String, _ variables: [String] = [], environment: [String: String] = [:]) async throws {
    let made = try await Script.run(
      ["make", target, "DESTDIR=\(path)/root", "PREFIX=/usr", "RELEASE=\(try Programs.folder())"] + variables,
      environment: environment)
    guard made.status == 0 else {
      throw Programs.Missing(description: "make \(target) fails: \(made.output)")
    }
  }
}
