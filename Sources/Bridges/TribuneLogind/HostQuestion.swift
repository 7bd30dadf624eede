// SPDX-License-Identifier: Apache-2.0

/// A question about the whole host, such as `host.shouldReboot`. logind and systemd can enforce a veto.
nonisolated package enum HostQuestion: CaseIterable, Sendable {
  case reboot, kexec, softReboot, powerOff, halt, suspend, hibernate, hybridSleep, suspendThenHibernate

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

  /// The notification, such as `host.mayReboot`, after which askers ask again.
  package var announcement: String { "host.may\(name.dropFirst("host.should".count))" }

  package var failure: String { "host.didFailTo\(name.dropFirst("host.should".count))" }

  package var lock: Lock {
    switch self {
    case .reboot, .kexec, .softReboot, .powerOff, .halt: .shutdown
    case .suspend, .hibernate, .hybridSleep, .suspendThenHibernate: .sleep
    }
  }

  /// The systemd targets that a veto concerns, the question's own target first. Power-off includes halt,
  /// because a halted host is unreachable, and exit, because exit shuts down a container.
  package var targets: [String] {
    switch self {
    case .reboot: ["reboot.target", "kexec.target", "soft-reboot.target"]
    case .kexec: ["kexec.target"]
    case .softReboot: ["soft-reboot.target"]
    case .powerOff: ["poweroff.target", "halt.target", "exit.target"]
    case .halt: ["halt.target"]
    case .suspend: ["suspend.target"]
    case .hibernate: ["hibernate.target", "hybrid-sleep.target", "suspend-then-hibernate.target"]
    case .hybridSleep: ["hybrid-sleep.target"]
    case .suspendThenHibernate: ["suspend-then-hibernate.target"]
    }
  }

  static let allTargets = Set(allCases.flatMap(\.targets))

  /// The target of the action itself, such as `reboot.target`.
  package var ownTarget: String { targets[0] }

  /// The questions to ask before an action of logind, such as `reboot`. Empty for logind's dry runs, such as
  /// `dry-reboot`.
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

  /// A kind of logind lock. The raw values are words of `systemd-inhibit --what=`.
  package enum Lock: String, CaseIterable, Sendable {
    case shutdown, sleep

    package var questions: [HostQuestion] { HostQuestion.allCases.filter { $0.lock == self } }
  }
}
