// SPDX-License-Identifier: Apache-2.0

/// A question about the whole host that logind's machinery can be kept from acting on.
nonisolated package enum HostQuestion: CaseIterable, Sendable {
  case reboot, kexec, softReboot, powerOff, halt, suspend, hibernate, hybridSleep, suspendThenHibernate

  /// The name of the query.
  package var name: String {
    switch self {
    case .reboot: "host.shouldReboot"
    case .kexec: "host.shouldKexec"
    case .softReboot: "host.shouldSoftReboot"
    case .powerOff: "host.shouldPowerOff"
    case .halt: "host.shouldHalt"
    case .suspend: "host.shouldSuspend"
    case .hibernate: "host.shouldHibernate"
    case .hybridSleep: "host.shouldHybridSleep"
    case .suspendThenHibernate: "host.shouldSuspendThenHibernate"
    }
  }

  /// The notification by which a delegate announces that it may answer otherwise now.
  package var announcement: String { "host.may\(name.dropFirst("host.should".count))" }

  /// The notification that what was allowed has failed.
  package var failure: String { "host.didFailTo\(name.dropFirst("host.should".count))" }

  /// What logind can block for it. It knows no difference between a reboot and a power off.
  package var lock: Lock {
    switch self {
    case .reboot, .kexec, .softReboot, .powerOff, .halt: .shutdown
    case .suspend, .hibernate, .hybridSleep, .suspendThenHibernate: .sleep
    }
  }

  /// The targets that systemd starts for it, and for what it includes: a halted host is as unreachable as one without
  /// power.
  package var targets: [String] {
    switch self {
    case .reboot: ["reboot.target", "kexec.target", "soft-reboot.target"]
    case .kexec: ["kexec.target"]
    case .softReboot: ["soft-reboot.target"]
    case .powerOff: ["poweroff.target", "halt.target"]
    case .halt: ["halt.target"]
    case .suspend: ["suspend.target"]
    case .hibernate: ["hibernate.target", "hybrid-sleep.target", "suspend-then-hibernate.target"]
    case .hybridSleep: ["hybrid-sleep.target"]
    case .suspendThenHibernate: ["suspend-then-hibernate.target"]
    }
  }

  /// The questions before an action of logind's, as `ScheduledShutdown` names it; none for an
  /// action that is only rehearsed.
  package static func before(action: String) -> [HostQuestion] {
    switch action {
    case "reboot": [.reboot]
    case "kexec": [.kexec, .reboot]
    case "soft-reboot": [.softReboot, .reboot]
    case "poweroff": [.powerOff]
    case "halt": [.halt, .powerOff]
    default: []
    }
  }

  /// What logind's locks are about (`systemd-inhibit --what=`).
  package enum Lock: String, CaseIterable, Sendable {
    case shutdown, sleep

    package var questions: [HostQuestion] { HostQuestion.allCases.filter { $0.lock == self } }
  }
}
