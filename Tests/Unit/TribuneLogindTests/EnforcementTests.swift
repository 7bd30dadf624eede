// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneLogind

@Suite("Enforcement of vetoes", .timeLimit(.minutes(15)))
struct EnforcementTests {
  private static let reboot: Set = ["reboot.target", "kexec.target", "soft-reboot.target"]
  private static let powerOff: Set = ["poweroff.target", "halt.target"]
  private static let older = Enforcement.Logind(bindsRoot: false)
  private static let newer = Enforcement.Logind(bindsRoot: true)

  private func enforcement(
    _ vetoed: Set<HostQuestion>, overridden: Set<HostQuestion> = [], masksTargets: Bool? = nil,
    on logind: Enforcement.Logind, masked: Set<String>? = []
  ) -> Enforcement {
    Enforcement(
      vetoed: vetoed, overridden: overridden, masksTargets: masksTargets, logind: logind, masked: masked)
  }

  @Test(
    "Targets are masked if locks do not bind root, if logind does not answer, and if configured",
    arguments: [
      (older, nil, true), (newer, nil, false), (Enforcement.Logind(), nil, false),
      (Enforcement.Logind(bindsRoot: true, isAnswering: false), nil, true),
      (Enforcement.Logind(isAnswering: false), nil, true), (older, false, false), (newer, true, true),
    ] as [(Enforcement.Logind, Bool?, Bool)])
  func masked(on logind: Enforcement.Logind, masksTargets: Bool?, isMasked: Bool) {
    let all = enforcement([.reboot, .powerOff], masksTargets: masksTargets, on: logind)
    #expect(all.targets == (isMasked ? Self.reboot.union(Self.powerOff) : []))
    #expect(all.blocks == [.shutdown: .full, .sleep: .none])
  }

  @Test(
    "A hold on a reboot masks its targets, after which a weak lock lets root power off"
  )
  func part() {
    let before = enforcement([.reboot], on: Self.newer)
    #expect(before.targets == Self.reboot && before.blocks[.shutdown] == .full)
    #expect(enforcement([.reboot], on: Self.newer, masked: Self.reboot).blocks[.shutdown] == .weak)
    #expect(enforcement([.reboot], on: Self.newer, masked: nil).blocks[.shutdown] == .full)
    // An older logind lacks weak locks: its full ones let root pass.
    #expect(enforcement([.reboot], on: Self.older, masked: Self.reboot).blocks[.shutdown] == .full)
    #expect(enforcement([.suspend], on: Self.newer).targets == ["suspend.target"])
  }

  @Test(
    "An override frees its targets, and ends the lock once the other vetoed targets are masked",
    arguments: [older, newer])
  func overridden(on logind: Enforcement.Logind) {
    let vetoed: Set<HostQuestion> = [.reboot, .powerOff, .suspend]
    let before = enforcement(vetoed, overridden: [.powerOff], masksTargets: false, on: logind)
    #expect(before.targets.isSuperset(of: Self.reboot) && before.targets.isDisjoint(with: Self.powerOff))
    #expect(before.blocks == [.shutdown: .full, .sleep: .full])
    for masked in [Self.reboot, nil] {
      let after = enforcement(
        vetoed, overridden: [.powerOff], masksTargets: false, on: logind, masked: masked)
      #expect(after.blocks[.shutdown] == Enforcement.Block.none)
    }
    #expect(
      enforcement([.powerOff], overridden: [.powerOff], on: logind).blocks[.shutdown]
        == Enforcement.Block.none)
    #expect(
      enforcement([.powerOff], overridden: [.reboot], on: logind, masked: Self.powerOff).blocks[.shutdown]
        == Enforcement.Block.none)
    #expect(
      enforcement([.powerOff], overridden: [.suspend], masksTargets: false, on: Self.older).blocks[.shutdown]
        == .full)
  }

  @Test(
    "The override of one action does not free another one that it covers, and that has a veto of its own",
    arguments: [
      ([.powerOff, .halt], [.powerOff], ["halt.target"]), ([.powerOff, .halt], [.powerOff, .halt], []),
      ([.powerOff, .halt], [.halt], ["poweroff.target"]), ([.reboot, .kexec], [.reboot], ["kexec.target"]),
      ([.powerOff], [.powerOff], []),
    ] as [(Set<HostQuestion>, Set<HostQuestion>, Set<String>)])
  func covered(_ vetoed: Set<HostQuestion>, overridden: Set<HostQuestion>, targets: Set<String>) {
    #expect(enforcement(vetoed, overridden: overridden, on: Self.older).targets == targets)
  }

  @Test(
    "The override of one action frees no other action",
    arguments: [(.reboot, powerOff), (.kexec, powerOff.union(reboot).subtracting(["kexec.target"]))]
      as [(HostQuestion, Set<String>)])
  func others(overridden: HostQuestion, targets: Set<String>) {
    #expect(enforcement([.reboot, .powerOff], overridden: [overridden], on: Self.newer).targets == targets)
  }
}
