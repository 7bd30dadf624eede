// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("The report at the end of the tests", .timeLimit(.minutes(15)))
struct TestReportTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func put(_ name: String, _ script: String) throws {
    try folder.write("#!/bin/bash\n\(script)\n", to: "bin/\(name)", mode: 0o755)
  }

  private func run(_ command: [String]) async throws -> Script {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return try await Script.run(
      command,
      environment: [
        "PATH": "\(folder.path)/bin:\(path)", "TRIBUNE_TESTS_LOG": "\(folder.path)/tests.log",
        "TRIBUNE_CI_LOGS": "\(folder.path)/ci",
      ])
  }

  private func putTests(issues: Int) throws {
    let lines = (0..<issues).map { number in
      """
      ✘ Test "a veto is sticky" recorded an issue at VetoTests.swift:\(number):5: Expectation failed: (a → 1) == 2
      ↳ what was said of \(number)
      ◇ Test "another" started.
      """
    }
    try folder.write(lines.map { "\($0)\n" }.joined(), to: "issues")
    try put("swift", "[[ $* != *--show-bin-path ]] || echo '\(folder.path)/bin'")
    let run =
      issues == 0
      ? """
      echo '✔ Test "a veto is sticky" passed after 0.1 seconds.'
      echo '✔ Test run with 2 tests in 1 suite passed after 0.1 seconds.'
      """
      : """
      cat '\(folder.path)/issues'
      echo '✘ Test "a veto is sticky" failed after 0.1 seconds with \(issues) issues.'
      echo '✘ Test run with 2 tests in 1 suite failed after 0.1 seconds with \(issues) issues.'
      exit 1
      """
    try put(
      "tribunePackageTests.xctest",
      "if [[ $* == *--list-tests ]]; then echo 'IntegrationTests.MadeTests/veto()'; exit; fi\n\(run)")
  }

  private func report(_ output: String) throws -> [Substring] {
    let lines = output.split(separator: "\n")
    let start = try #require(lines.firstIndex { $0.hasPrefix("tests: programs from ") })
    return Array(lines[start...])
  }

  @Test("has the failed tests, their issues and the comments on these")
  func failure() async throws {
    try putTests(issues: 2)
    let tests = try await run(["tools/run-tests", "Made"])
    #expect(tests.status == 1)
    let report = try report(tests.output)
    #expect(report.contains { $0.contains("a veto is sticky") && $0.contains("failed after") })
    for number in 0..<2 {
      let index = try #require(
        report.firstIndex { $0.contains("recorded an issue at VetoTests.swift:\(number):5") })
      #expect(report[index + 1] == "↳ what was said of \(number)")
    }
    #expect(!report.contains { $0.contains("started") })
  }

  @Test("is bounded, however many issues were recorded")
  func bounded() async throws {
    try putTests(issues: 1000)
    let report = try report(try await run(["tools/run-tests", "Made"]).output)
    #expect((50..<65).contains(report.count))
    #expect(report.contains("… and more"))
  }

  @Test("has the compiler's errors if no test could run")
  func unbuilt() async throws {
    try put("swift", "echo '/x/Veto.swift:3:1: error: expected a veto'; exit 1")
    let tests = try await run(["tools/run-tests", "Made"])
    #expect(tests.status == 1)
    #expect(try report(tests.output).contains("/x/Veto.swift:3:1: error: expected a veto"))
  }

  @Test("is empty if all tests passed")
  func success() async throws {
    try putTests(issues: 0)
    let tests = try await run(["tools/run-tests", "Made"])
    #expect(tests.status == 0)
    #expect(!tests.output.contains("because of this"))
    #expect(tests.output.contains("tests: the slowest:\n0.1 s  \"a veto is sticky\"\n"))
    #expect(tests.output.hasSuffix("tests: passed\n"))
  }

  @Test("of all steps ends with the reasons of failed ones")
  func steps() async throws {
    try putTests(issues: 1)
    try put(
      "make",
      """
      case $1 in
        check) seq 100; echo 'lint: a line is too long'; exit 2 ;;
        test) seq 1000; tools/run-tests Made ;;
        *) echo "$1 is fine" ;;
      esac
      """)
    let all = try await run([".ci/run"])
    #expect(all.status == 1)
    let lines = all.output.split(separator: "\n")
    let summary = try #require(
      lines.lastIndex { $0.hasPrefix("ci: make test-systemd") && $0.hasSuffix("passed") })
    let end = lines[summary...]
    #expect(end.count < 60)
    #expect(end.contains("lint: a line is too long"))
    #expect(end.contains("↳ what was said of 0"))
    #expect(end.contains { $0.hasPrefix("tests: FAILED") })
    let fine = lines.filter { $0.hasSuffix(" is fine") }
    #expect(fine.contains("test-systemd is fine") && Set(fine).count == fine.count)
  }
}
