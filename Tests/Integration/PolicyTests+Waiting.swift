// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@Suite("The policy and waiting askers", .timeLimit(.minutes(15)))
struct WaitingPolicyTests {
  private static let ann: UInt32 = 65_533

  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func bus(_ lines: String) throws -> (TestBus, OtherUser) {
    try folder.write(lines, to: "etc/policy.d/10.policy")
    let bus = try TestBus(folder: folder)
    return (bus, try OtherUser(Self.ann, on: bus.address, in: folder))
  }

  private static let lines = "allow * ** user:root\nallow observe tribune.hold.* tribune.delegate.* user:*\n"

  @Test(
    "A user with the installed policy, or one that allows only asks, learns the end of root's holds and delegates",
    arguments: [
      try Script.text(of: "config/50-default.policy"),
      lines
        + "allow observe tribune.bus.didReload host.mayReboot user:*\nallow ask host.shouldReboot user:*\n",
    ], [["hold", "--why=a backup"], ["delegate", "--veto=a backup"]])
  func waits(policy: String, veto: [String]) throws {
    let (bus, ann) = try bus(policy)
    let holder = try bus.staying(veto + ["host.shouldReboot"])
    let program = try RunningProgram(ann.command(["ask", "host.shouldReboot", "--wait-until-allowed"]))
    #expect(try program.errors.line() == "waiting until host.shouldReboot is allowed:")
    #expect(try program.errors.line()?.hasSuffix(": a backup") == true)
    holder.end(SIGTERM)
    #expect(try program.output.rest() == "allowed: host.shouldReboot (no delegate answered)\n")
    #expect(program.status() == 0)
    #expect(try !bus.log().contains("did not allow"))
  }

  @Test(
    "A user who may not observe the end of a veto, or announce what it guards, is refused at once",
    arguments: [
      (
        lines + "allow ask,observe host.** user:*\n", ["ask", "host.shouldReboot", "--wait-until-allowed"],
        "observe tribune.bus.didReload"
      ),
      (
        try Script.text(of: "config/50-default.policy"),
        ["guard", "host.reboot", "--wait-until-allowed", "--", "echo", "ran"], "post host.willReboot"
      ),
    ])
  func refused(policy: String, command: [String], what: String) throws {
    let (bus, ann) = try bus(policy)
    let hold = try bus.staying("hold", "--why=a backup", "host.shouldReboot")
    try FinishedProgram(ann.command(command)).expect(
      255, output: "",
      errors: "tribunectl: user 65533 may not \(what): no line of the policy allows it\n")
    withExtendedLifetime(hold) {}
  }

  @Test("An observer learns of its own holds and delegates, and of those that it may list")
  func told() throws {
    let (bus, ann) = try bus(try Script.text(of: "config/50-default.policy"))
    let observer = try ann.staying("-j", "observe", "tribune.hold.*", "tribune.delegate.*")
    for name in ["user.0.shouldA", "host.shouldReboot"] {
      try bus.staying("hold", "--why=of root", name).end(SIGTERM)
      try bus.staying("delegate", "--veto=of root", "user.0.shouldA", name).end(SIGTERM)
    }
    let own = try ann.staying("hold", "--why=own", "user.65533.shouldA")
    let told = try (0..<5).map { _ -> String in
      let object = try observer.output.object()
      let userInfo = try #require(object["userInfo"] as? [String: Any])
      let names = userInfo["respondsTo"] as? [String] ?? [userInfo["pattern"] as? String ?? ""]
      return "\(object["name"] as? String ?? "") \(names.joined(separator: " "))"
    }
    #expect(
      told == [
        "tribune.hold.didTake host.shouldReboot", "tribune.hold.didRelease host.shouldReboot",
        "tribune.delegate.didAttach host.shouldReboot", "tribune.delegate.didDetach host.shouldReboot",
        "tribune.hold.didTake user.65533.shouldA",
      ])
    withExtendedLifetime(own) {}
  }
}
