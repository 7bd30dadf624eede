// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("Reboots under systemd", .timeLimit(.minutes(15)))
struct SystemdRebootTests {
  private let machine: Container

  init() throws {
    machine = try Container(enabled: ["tribuned.service"])
    try machine.copy("Examples/molly-guard/40-tribune", to: "/etc/molly-guard/run.d/40-tribune", mode: 0o755)
  }

  @Test("a veto keeps the machine up, and shows its reason", arguments: ["reboot", "poweroff"])
  func vetoed(command: String) throws {
    let hold = try machine.staying("hold", "host.**", "--why=the nightly backup is at 40 %")
    let refusal = try machine.run(command)
    #expect(refusal.status != 0)
    #expect((refusal.output + refusal.errors).contains("the nightly backup is at 40 %"))
    #expect(try machine.does("systemctl", "list-jobs", "--no-legend") == "")
    #expect(try machine.property("ActiveState", of: "multi-user.target") == "active")
    withExtendedLifetime(hold) {}
  }

  @Test("without a veto the machine goes down")
  func allowed() throws { #expect(try machine.powerOff(by: "poweroff") == 0) }
}
