// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("The demo") struct DemoTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func run(_ demo: String = "prune-demo", programs: String) async throws -> Script {
    try await Script.run(["Examples/demo/\(demo)", programs], environment: ["TMPDIR": folder.path])
  }

  private func left() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("tribune-demo") }
  }

  private func programs() throws -> String {
    URL(fileURLWithPath: try Programs.path(of: "tribunectl")).deletingLastPathComponent().path
  }

  @Test("has its prune vetoed by a restore, then done, and leaves nothing behind")
  func succeeds() async throws {
    let demo = try await run(programs: programs())
    #expect(demo.status == 0, "\(demo.output)")
    #expect(demo.output.contains("was vetoed"))
    #expect(demo.output.contains(#/restore \(pid \d+\) holds the lock of \S+/archives/#))
    #expect(demo.output.contains(#/archive\.willPrune[^\n]*\n[^\n]*archive\.didPrune/#))
    #expect(try left() == [])
  }

  @Test("fails when the guard does not ask") func notGuarded() async throws {
    let wrapper = """
      #!/bin/bash
      if [[ $1 == guard ]]; then
        while [[ $1 != -- ]]; do shift; done
        shift
        exec "$@"
      fi
      exec "\(try programs())/tribunectl" "$@"
      """
    let fake = "\(folder.path)/programs"
    try folder.write(wrapper, to: "programs/wrapper")
    // Another process writes the program: children of this one could inherit the file open for writing, and it could
    // not run.
    let installed = try await Script.run(["install", "--mode=0755", "\(fake)/wrapper", "\(fake)/tribunectl"])
    #expect(installed.status == 0, "\(installed.output)")
    try FileManager.default.createSymbolicLink(
      atPath: "\(fake)/tribuned", withDestinationPath: try Programs.path(of: "tribuned"))
    let demo = try await run(programs: fake)
    #expect(demo.status == 1)
    #expect(demo.output.contains("FAILED: exit status of the vetoed prune"), "\(demo.output)")
  }

  @Test(
    "says only what is missing, and leaves nothing behind", arguments: ["prune-demo", "cluster-demo"],
    ["", "/none/release"])
  func noPrograms(_ demo: String, under place: String) async throws {
    let ended = try await run(demo, programs: folder.path + place)
    #expect(ended.status == 1)
    let missing = "no tribuned in \(folder.path)\(place): run \"make build\""
    #expect(ended.output == "\n\(demo): FAILED: \(missing)\n")
    #expect(try left() == [])
  }
}
