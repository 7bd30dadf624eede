// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("The demo") struct DemoTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func run(programs: String) async throws -> Script {
    try await Script.run(["Examples/demo/prune-demo", programs], environment: ["TMPDIR": folder.path])
  }

  private func programs() throws -> String {
    URL(fileURLWithPath: try Programs.path(of: "tribunectl")).deletingLastPathComponent().path
  }

  @Test("shows a restore that vetoes a prune, then the prune, and leaves nothing behind")
  func succeeds() async throws {
    let demo = try await run(programs: programs())
    #expect(demo.status == 0, "\(demo.output)")
    #expect(demo.output.contains("was vetoed"))
    #expect(demo.output.contains(#/restore \(pid \d+\) holds the lock of \S+/archives/#))
    #expect(demo.output.contains(#/archive\.willPrune[^\n]*\n[^\n]*archive\.didPrune/#))
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(left.filter { $0.hasPrefix("tribune-demo") } == [])
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

  @Test("names what is missing", arguments: ["", "/none/release"])
  func noPrograms(under place: String) async throws {
    let demo = try await run(programs: folder.path + place)
    #expect(demo.status == 1)
    #expect(
      demo.output.contains("no tribuned in \(folder.path)\(place): run \"make build\""), "\(demo.output)")
  }
}
