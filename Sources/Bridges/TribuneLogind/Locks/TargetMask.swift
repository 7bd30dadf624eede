// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// Masks targets until the next boot, by links to /dev/null in a folder that takes precedence over units in /etc. Only
/// Tribune masks there. So even after a SIGKILL, the next process knows these masks, and leaves an administrator's own
/// masks alone.
final class TargetMask {
  private static let folder = "/run/systemd/system.control"
  private static let null = Array("/dev/null".utf8)

  /// The targets with a link.
  private(set) var linked: Set<String>
  /// The targets of the last update; nil if the masks are unknown, for example after a failure.
  private(set) var applied: Set<String>?

  init() {
    linked = HostQuestion.allTargets.filter {
      Folder.target(ofLink: Array(Self.path(of: $0).utf8)) == Self.null
    }
  }

  private static func path(of target: String) -> String { "\(folder)/\(target)" }

  /// Returns true if the update changed something.
  func update(_ targets: Set<String>) async throws(DBusError) -> Bool {
    guard targets != applied else { return false }
    applied = nil
    let isChange = targets != linked
    try link(targets)
    let manager = SystemdProxy(try Self.connect())
    // An earlier process may have died before its reload.
    let masked = try await manager.masked(among: HostQuestion.allTargets)
    if isChange || masked != targets { try await manager.reload() }
    let missing = targets.subtracting(try await manager.masked(among: targets))
    if let target = missing.sorted().first { throw .notMasked(target) }
    applied = targets
    return isChange
  }

  /// Unmasks all targets after the service has stopped, unless systemd restarts it or the host goes down. `service` is
  /// nil if this process is not part of a service.
  func end(after service: String?) async throws(DBusError) {
    guard !linked.isEmpty else { return }
    if let service {
      let manager = SystemdProxy(try Self.connect())
      guard try await manager.job(of: service) == "stop", try await !manager.isStopping() else { return }
    }
    _ = try await update([])
  }

  private func link(_ targets: Set<String>) throws(DBusError) {
    do throws(Errno) {
      if !targets.isEmpty { try Folder.make(Self.folder, mode: 0o755) }
      for target in linked.subtracting(targets) {
        try SocketFile.remove(at: Self.path(of: target))
        linked.remove(target)
      }
      for target in targets.subtracting(linked).sorted() {
        try Folder.link(Self.path(of: target), to: "/dev/null")
        linked.insert(target)
      }
    } catch {
      throw .failed(error)
    }
  }

  /// Uses systemd's private socket, because unmasking must work without D-Bus.
  private static func connect() throws(DBusError) -> DBusConnection {
    do throws(Errno) {
      return try DBusConnection(toServiceManager: { _ in })
    } catch {
      throw .failed(error)
    }
  }
}
