// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// Masks targets until the next boot, by links to /dev/null in a folder that takes precedence over /etc. Only
/// Tribune makes masks there, so even after a SIGKILL, a new process recognizes Tribune's masks.
final class TargetMask {
  enum Change {
    case none
    /// The masks existed already, and systemd has confirmed them.
    case confirmed
    case made
  }

  private static let folder = "/run/systemd/system.control"
  private static let null = Array("/dev/null".utf8)

  /// The targets with a link to /dev/null in `folder`.
  private(set) var linked: Set<String>
  /// The targets of the last update; nil if the masks are unknown, for example after a failure.
  private(set) var applied: Set<String>?
  /// The targets that stayed unmasked after a reload.
  private var unmaskable: Set<String> = []

  init() { linked = Self.links }

  private static var links: Set<String> { HostQuestion.allTargets.filter(isLink) }

  private static func path(of target: String) -> String { "\(folder)/\(target)" }

  private static func isLink(_ target: String) -> Bool {
    Folder.target(ofLink: Array(path(of: target).utf8)) == null
  }

  func update(_ targets: Set<String>) async throws(DBusError) -> Change {
    // Unchanged targets are checked, too, because another program may have removed their links.
    guard targets != applied || !targets.allSatisfy(Self.isLink) else { return .none }
    let isFirst = applied == nil
    linked = Self.links
    let before = linked
    do throws(DBusError) {
      let failure = link(targets)
      try await apply(targets, isFirst: isFirst, isChange: linked != before)
      if let failure { throw .failed(failure) }
    } catch {
      applied = nil
      throw error
    }
    applied = targets
    return linked == before ? .confirmed : .made
  }

  /// Unmasks all targets if the service was stopped (`systemctl stop`). After a crash, during a restart, and
  /// when the host goes down, the masks stay. If `service` is nil, unmasks in any case.
  func end(after service: String?) async throws(DBusError) {
    guard !linked.isEmpty else { return }
    if let service {
      let manager = SystemdProxy(try Self.connect())
      guard try await manager.job(of: service) == "stop", try await !manager.isStopping() else { return }
    }
    _ = try await update([])
  }

  /// Makes missing links, then removes superfluous ones. Returns the first failure.
  private func link(_ targets: Set<String>) -> Errno? {
    var failure: Errno?
    func attempt(_ step: () throws(Errno) -> Void) {
      do throws(Errno) { try step() } catch { failure = failure ?? error }
    }
    if !targets.isEmpty { attempt { () throws(Errno) in try Folder.make(Self.folder, mode: 0o755) } }
    for target in targets.sorted() where !Self.isLink(target) {
      attempt { () throws(Errno) in try Folder.link(Self.path(of: target), to: "/dev/null") }
    }
    for target in linked.subtracting(targets) where Self.isLink(target) {
      attempt { () throws(Errno) in try SocketFile.remove(at: Self.path(of: target)) }
    }
    linked = Self.links
    return failure
  }

  private func apply(_ targets: Set<String>, isFirst: Bool, isChange: Bool) async throws(DBusError) {
    let manager = SystemdProxy(try Self.connect())
    let masked = try await manager.masked(among: HostQuestion.allTargets)
    var missing = targets.subtracting(masked)
    // An earlier process may have removed links, and died before it made systemd reload its units.
    let isStale = isFirst ? try await manager.needReload(masked.subtracting(targets)) : false
    if isChange || isStale || !missing.isSubset(of: unmaskable) {
      try await manager.reload()
      missing = targets.subtracting(try await manager.masked(among: targets))
    }
    unmaskable = missing
    if let target = missing.sorted().first { throw .notMasked(target) }
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
