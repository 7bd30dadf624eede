// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The file for molly-guard's run.d, run as molly-guard runs it.
@Suite("The file for molly-guard") struct MollyGuardTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private struct Guarded {
    var status: Int32
    var output: String
  }

  /// - Parameters:
  ///   - command: what was typed, without what molly-guard keeps for itself.
  ///   - arguments: what stood behind `--`.
  private func run(
    _ command: [String], behindDashes arguments: [String] = [], environment: [String: String] = [:],
    file: String = "40-tribune"
  ) throws -> Guarded {
    // As molly-guard does, from the shell that was given the command line.
    try bus.folder.write("\"$FILE\" $FILE_ARGUMENTS\n", to: "molly-guard/\(command[0])")
    let programs = URL(fileURLWithPath: try Programs.path(of: "tribunectl")).deletingLastPathComponent().path
    let here = Script.repository.appending(path: "Examples/molly-guard/40-tribune").path
    let ended = try FinishedProgram(
      ["sh", "\(bus.folder.path)/molly-guard/\(command[0])"] + command.dropFirst(),
      environment: [
        "FILE": file == "40-tribune" ? here : file, "MOLLYGUARD_CMD": command[0],
        "MOLLYGUARD_DO_NOTHING": "0",
        "FILE_ARGUMENTS": arguments.map { "--arg \($0)" }.joined(separator: " "),
        "PATH": "\(programs):/usr/bin:/bin", "TRIBUNE_ADDRESS": bus.address,
      ].merging(environment) { $1 })
    return Guarded(status: ended.status, output: ended.output + ended.errors)
  }

  private static let asking: [(command: [String], name: String)] = [
    (["reboot"], "host.shouldReboot"), (["coldreboot"], "host.shouldReboot"),
    (["halt"], "host.shouldPowerOff"),
    (["poweroff"], "host.shouldPowerOff"), (["shutdown", "now"], "host.shouldPowerOff"),
    (["shutdown", "-h", "+5"], "host.shouldPowerOff"), (["shutdown", "-r", "now"], "host.shouldReboot"),
    (["shutdown", "-fr", "now"], "host.shouldReboot"),
    (["shutdown", "--reboot", "now"], "host.shouldReboot"),
  ]

  @Test("lets through what nobody minds", arguments: asking.map(\.command))
  func allowed(command: [String]) throws {
    #expect(try run(command).status == 0)
  }

  @Test("refuses what is vetoed, with every reason", arguments: asking)
  func vetoed(command: [String], name: String) throws {
    let delegate = try bus.staying("delegate", name, "--label=backup", "--veto=a backup is running")
    let hold = try bus.staying("hold", name, "--why=a restore is running")
    let guarded = try run(command)
    #expect(guarded.status == 1)
    #expect(guarded.output.contains("vetoed: \(name)"))
    #expect(guarded.output.contains("a backup is running") && guarded.output.contains("a restore is running"))
    withExtendedLifetime([delegate, hold]) {}
  }

  @Test("does not refuse the one for a veto of the other") func other() throws {
    let delegate = try bus.staying("delegate", "host.shouldReboot", "--veto=no")
    #expect(try run(["poweroff"]).status == 0)
    withExtendedLifetime(delegate) {}
  }

  @Test("has nothing to say of sleeping", arguments: ["pm-suspend", "pm-hibernate"])
  func sleeping(command: String) throws {
    let delegate = try bus.staying("delegate", "host.**", "--veto=no")
    let guarded = try run([command])
    #expect(guarded.status == 0 && guarded.output == "")
    withExtendedLifetime(delegate) {}
  }

  @Test("goes past a veto with a reason") func override() throws {
    let delegate = try bus.staying("delegate", "host.shouldReboot", "--veto=no")
    let guarded = try run(["reboot"], behindDashes: ["--override=failing"])
    #expect(guarded.status == 0)
    #expect(guarded.output.contains("allowed: host.shouldReboot (overridden)"))
    withExtendedLifetime(delegate) {}
  }

  @Test("tells the delegates of a rehearsal that it is one") func rehearsal() throws {
    let delegate = try bus.staying(
      "delegate", "host.shouldReboot", "--exec", "sh", "-c", "echo \"dry ${TRIBUNE_DRY_RUN-no}\"; exit 1")
    #expect(try run(["reboot"]).output.contains("dry no"))
    #expect(try run(["reboot"], environment: ["MOLLYGUARD_DO_NOTHING": "1"]).output.contains("dry 1"))
    withExtendedLifetime(delegate) {}
  }

  @Test("asks the system's bus also where the user has one") func ownBus() throws {
    let refusing = try bus.staying("delegate", "host.shouldReboot", "--veto=no")
    // Where the user's own bus is looked for.
    try FileManager.default.createDirectory(
      atPath: "\(bus.folder.path)/tribune", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: "\(bus.folder.path)/tribune/bus", withDestinationPath: bus.path)
    let guarded = try run(
      ["reboot"], environment: ["TRIBUNE_ADDRESS": "", "XDG_RUNTIME_DIR": bus.folder.path])
    #expect(!guarded.output.contains("vetoed: host.shouldReboot"))
    withExtendedLifetime(refusing) {}
  }

  @Test("without a bus does what it says there", arguments: [("allow", Int32(0)), ("veto", 1)])
  func unreachable(choice: String, status: Int32) throws {
    let text = try String(
      contentsOf: Script.repository.appending(path: "Examples/molly-guard/40-tribune"), encoding: .utf8)
    #expect(text.contains("\nif_unreachable=allow\n"))
    try bus.folder.write(
      text.replacing("\nif_unreachable=allow\n", with: "\nif_unreachable=\(choice)\n"), to: "run.d/40-tribune"
    )
    let file = "\(bus.folder.path)/run.d/40-tribune"
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file)
    let guarded = try run(["reboot"], environment: ["TRIBUNE_ADDRESS": "unix:/nowhere"], file: file)
    #expect(guarded.status == status)
    #expect(guarded.output.contains("no bus at unix:/nowhere"))
  }
}
