// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// Masks vetoed targets until the next boot where locks do not suffice: before systemd 257, locks do not bind root, and
/// each lock covers several actions. A file lists each target from before it is masked until after it is unmasked. So
/// even after a SIGKILL, the next process unmasks only these targets, not those that the administrator masked.
final class TargetMask {
  private static let file = "/run/tribune-logind/masked"

  /// The targets in the file.
  private(set) var recorded: Set<String>
  /// The targets of the last update; nil if the masks are unknown, for example after a failure.
  private(set) var applied: Set<String>?

  init() throws(Errno) {
    do throws(Errno) {
      let contents = try InputFile.contents(of: Self.file, lengthMax: 1 << 16, waits: false) ?? []
      recorded = Set(String(decoding: contents, as: UTF8.self).split(separator: "\n").map(String.init))
    } catch .noSuchFile {
      recorded = []
      applied = []
    }
  }

  /// Returns true if the update changed something.
  func update(_ targets: Set<String>) async throws(DBusError) -> Bool {
    guard targets != applied else { return false }
    do throws(DBusError) {
      if !(targets.isEmpty && recorded.isEmpty) {
        try await update(targets, at: SystemdProxy(try Self.connect()))
      }
    } catch {
      applied = nil
      throw error
    }
    applied = targets
    return true
  }

  /// Unmasks all targets after the service has stopped, unless systemd restarts it or the host goes down. `service` is
  /// nil if this process is not part of a service.
  func end(after service: String?) async throws(DBusError) {
    guard !recorded.isEmpty else { return }
    if let service {
      let manager = SystemdProxy(try Self.connect())
      guard try await manager.job(of: service) == "stop", try await !manager.isStopping() else { return }
    }
    _ = try await update([])
  }

  private func update(_ targets: Set<String>, at manager: SystemdProxy) async throws(DBusError) {
    let obsolete = recorded.subtracting(targets)
    if !obsolete.isEmpty {
      try await manager.unmask(obsolete.sorted())
      try record(recorded.intersection(targets))
    }
    // An earlier process may have died before it masked the recorded targets, so they are masked again.
    var own = recorded
    for target in targets.subtracting(recorded).sorted() where try await manager.canBeMasked(target) {
      own.insert(target)
    }
    guard !own.isEmpty else { return }
    try record(own)
    try await manager.mask(own.sorted())
  }

  /// Uses systemd's private socket, because unmasking must work without D-Bus.
  private static func connect() throws(DBusError) -> DBusConnection {
    do throws(Errno) {
      return try DBusConnection(toServiceManager: { _ in })
    } catch {
      throw .failed(error)
    }
  }

  private func record(_ targets: Set<String>) throws(DBusError) {
    do throws(Errno) {
      try StateFile.write(Array(targets.sorted().map { "\($0)\n" }.joined().utf8), to: Self.file)
    } catch {
      throw .failed(error)
    }
    recorded = targets
  }
}
