// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneLogind

@Suite("Enforcement of vetoes", .timeLimit(.minutes(15)))
struct EnforcementTests {
  private static let reboot: Set = ["reboot.target", "kexec.target", "soft-reboot.target"]
  private static let powerOff: Set = ["poweroff.target", "halt.target", "exit.target"]

  private func enforcement(
    _ vetoed: Set<HostQuestion>, overridden: Set<HostQuestion> = [], masksTargets: Bool = true,
    bindsRoot: Bool?, masked: Set<String>? = []
  ) -> Enforcement {
    Enforcement(
      vetoed: vetoed, overridden: overridden, masksTargets: masksTargets, bindsRoot: bindsRoot, masked: masked
    )
  }

  @Test(
    "All vetoed targets are masked unless configured otherwise", arguments: [false, true, nil] as [Bool?])
  func masked(bindsRoot: Bool?) {
    for masksTargets in [false, true] {
      let all = enforcement([.reboot, .powerOff], masksTargets: masksTargets, bindsRoot: bindsRoot)
      #expect(all.targets == (masksTargets ? Self.reboot.union(Self.powerOff) : []))
      #expect(all.blocks == [.shutdown: .full, .sleep: .none])
    }
  }

  @Test(
    "A hold on a reboot masks its targets, after which a weak lock lets root power off"
  )
  func part() {
    let before = enforcement([.reboot], masksTargets: false, bindsRoot: true)
    #expect(before.targets == Self.reboot && before.blocks[.shutdown] == .full)
    #expect(enforcement([.reboot], bindsRoot: true, masked: Self.reboot).blocks[.shutdown] == .weak)
    #expect(enforcement([.reboot], bindsRoot: true, masked: nil).blocks[.shutdown] == .full)
    // An older logind lacks weak locks: its full ones let root pass.
    #expect(enforcement([.reboot], bindsRoot: false, masked: Self.reboot).blocks[.shutdown] == .full)
    #expect(enforcement([.suspend], masksTargets: false, bindsRoot: true).targets == ["suspend.target"])
  }

  @Test(
    "An override frees its targets, and ends the lock once the other vetoed targets are masked",
    arguments: [false, true])
  func overridden(bindsRoot: Bool) {
    let vetoed: Set<HostQuestion> = [.reboot, .powerOff, .suspend]
    let before = enforcement(vetoed, overridden: [.powerOff], masksTargets: false, bindsRoot: bindsRoot)
    #expect(before.targets.isSuperset(of: Self.reboot) && before.targets.isDisjoint(with: Self.powerOff))
    #expect(before.blocks == [.shutdown: .full, .sleep: .full])
    for masked in [Self.reboot, nil] {
      let after = enforcement(
        vetoed, overridden: [.powerOff], masksTargets: false, bindsRoot: bindsRoot, masked: masked)
      #expect(after.blocks[.shutdown] == Enforcement.Block.none)
    }
    #expect(
      enforcement([.powerOff], overridden: [.powerOff], bindsRoot: bindsRoot).blocks[.shutdown]
        == Enforcement.Block.none)
    #expect(
      enforcement([.powerOff], overridden: [.reboot], bindsRoot: bindsRoot, masked: Self.powerOff).blocks[
        .shutdown]
        == Enforcement.Block.none)
    #expect(
      enforcement([.powerOff], overridden: [.suspend], masksTargets: false, bindsRoot: false).blocks[
        .shutdown]
        == .full)
  }

  @Test(
    "The override of one action does not free another one that it covers, and that has a veto of its own",
    arguments: [
      ([.powerOff, .halt], [.powerOff], ["halt.target"]), ([.powerOff, .halt], [.powerOff, .halt], []),
      ([.powerOff, .halt], [.halt], ["poweroff.target", "exit.target"]),
      ([.reboot, .kexec], [.reboot], ["kexec.target"]),
      ([.powerOff], [.powerOff], []),
    ] as [(Set<HostQuestion>, Set<HostQuestion>, Set<String>)])
  func covered(_ vetoed: Set<HostQuestion>, overridden: Set<HostQuestion>, targets: Set<String>) {
    #expect(enforcement(vetoed, overridden: overridden, bindsRoot: false).targets == targets)
  }

  @Test(
    "The override of one action frees no other action",
    arguments: [(.reboot, powerOff), (.kexec, powerOff.union(reboot).subtracting(["kexec.target"]))]
      as [(HostQuestion, Set<String>)])
  func others(overridden: HostQuestion, targets: Set<String>) {
    #expect(enforcement([.reboot, .powerOff], overridden: [overridden], bindsRoot: true).targets == targets)
  }
}
