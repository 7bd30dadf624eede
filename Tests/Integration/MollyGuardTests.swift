// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("The file for molly-guard") struct MollyGuardTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private static let file = "Examples/molly-guard/40-tribune"

  private func run(
    _ command: [String], behindDashes arguments: [String] = [], environment: [String: String] = [:],
    file: String = Script.repository.appending(path: MollyGuardTests.file).path
  ) throws -> (status: Int32, output: String) {
    // molly-guard runs the file from the shell that was given the command line.
    try bus.folder.write("\"$FILE\" $FILE_ARGUMENTS\n", to: "molly-guard/\(command[0])")
    let ended = try FinishedProgram(
      ["sh", "\(bus.folder.path)/molly-guard/\(command[0])"] + command.dropFirst(),
      environment: [
        "FILE": file, "MOLLYGUARD_CMD": command[0], "MOLLYGUARD_DO_NOTHING": "0",
        "FILE_ARGUMENTS": arguments.map { "--arg \($0)" }.joined(separator: " "),
        "PATH": "\(try Programs.folder()):/usr/bin:/bin", "TRIBUNE_ADDRESS": bus.address,
      ].merging(environment) { $1 })
    return (ended.status, ended.output + ended.errors)
  }

  private static let asking: [(command: [String], name: String)] = [
    (["reboot"], "host.shouldReboot"), (["coldreboot"], "host.shouldReboot"),
    (["halt"], "host.shouldPowerOff"),
    (["poweroff"], "host.shouldPowerOff"), (["shutdown", "now"], "host.shouldPowerOff"),
    (["shutdown", "-h", "+5"], "host.shouldPowerOff"), (["shutdown", "-r", "now"], "host.shouldReboot"),
    (["shutdown", "-fr", "now"], "host.shouldReboot"),
    (["shutdown", "--reboot", "now"], "host.shouldReboot"),
    (["shutdown", "--reb", "now"], "host.shouldReboot"),
    (["shutdown", "--kexec", "now"], "host.shouldReboot"), (["shutdown", "-K", "now"], "host.shouldReboot"),
    (["shutdown", "--poweroff"], "host.shouldPowerOff"), (["shutdown", "-rP", "now"], "host.shouldReboot"),
    (["shutdown", "-rP", "now"], "host.shouldPowerOff"), (["poweroff", "--reboot"], "host.shouldReboot"),
    (["halt", "--reb"], "host.shouldReboot"), (["reboot", "-p"], "host.shouldPowerOff"),
    (["reboot", "--halt"], "host.shouldPowerOff"),
  ]

  @Test(
    "lets a command pass without a veto, and refuses it with every reason of a veto", arguments: asking)
  func vetoed(command: [String], name: String) throws {
    #expect(try run(command).status == 0)
    try bus.staying("delegate", name, "--label=backup", "--veto=a backup is running")
    try bus.staying("hold", name, "--why=a restore is running")
    let guarded = try run(command)
    #expect(guarded.status == 1)
    #expect(guarded.output.contains("vetoed: \(name)"))
    #expect(guarded.output.contains("a backup is running") && guarded.output.contains("a restore is running"))
  }

  @Test("a veto of one command does not stop another") func other() throws {
    try bus.staying("delegate", "host.shouldReboot", "--veto=no")
    #expect(try run(["poweroff"]).status == 0)
  }

  @Test("lets the host sleep", arguments: ["pm-suspend", "pm-hibernate"])
  func sleeping(command: String) throws {
    try bus.staying("delegate", "host.**", "--veto=no")
    let guarded = try run([command])
    #expect(guarded.status == 0 && guarded.output == "")
  }

  @Test("overrides a veto with a reason") func override() throws {
    try bus.staying("delegate", "host.shouldReboot", "--veto=no")
    let guarded = try run(["reboot"], behindDashes: ["--override=failing"])
    #expect(guarded.status == 0)
    #expect(guarded.output.contains("allowed: host.shouldReboot (overridden)"))
  }

  @Test("asks with a dry run if molly-guard only pretends") func rehearsal() throws {
    try bus.staying(
      "delegate", "host.shouldReboot", "--exec", "sh", "-c", "echo \"dry ${TRIBUNE_DRY_RUN-no}\"; exit 1")
    #expect(try run(["reboot"]).output.contains("dry no"))
    #expect(try run(["reboot"], environment: ["MOLLYGUARD_DO_NOTHING": "1"]).output.contains("dry 1"))
  }

  @Test("asks the system's bus even if the user has one") func ownBus() throws {
    try bus.staying("delegate", "host.shouldReboot", "--veto=no")
    let guarded = try run(["reboot"], environment: bus.asOwnOfItsUser())
    #expect(!guarded.output.contains("vetoed: host.shouldReboot"))
  }

  @Test("without a bus, follows its setting if_unreachable", arguments: [("allow", Int32(0)), ("veto", 1)])
  func unreachable(choice: String, status: Int32) throws {
    let text = try Script.text(of: Self.file)
    #expect(text.contains("\nif_unreachable=allow\n"))
    try bus.folder.write(
      text.replacing("\nif_unreachable=allow\n", with: "\nif_unreachable=\(choice)\n"),
      to: "run.d/40-tribune", mode: 0o755)
    let file = "\(bus.folder.path)/run.d/40-tribune"
    let guarded = try run(["reboot"], environment: ["TRIBUNE_ADDRESS": "unix:/nowhere"], file: file)
    #expect(guarded.status == status)
    #expect(guarded.output.contains("no bus at unix:/nowhere"))
  }
}
