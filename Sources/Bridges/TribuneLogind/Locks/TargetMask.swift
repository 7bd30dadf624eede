// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// Masks the targets of vetoed actions until the next boot, for what logind's locks do not bind:
/// root before systemd 257, and one action apart from others.
///
/// A file says which ones, from before they are masked until after they are unmasked. So whoever comes next, also after
/// `kill -9`, unmasks exactly those, and none that an administrator has masked.
final class TargetMask {
  private static let file = "/run/tribune-logind/masked"

  /// What the file says.
  private(set) var recorded: Set<String>
  /// What is masked for certain; nil if an attempt has failed.
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

  /// Masks these targets, and no others.
  ///
  /// - Returns: whether that is a change. After an error, the same targets are a change once more.
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

  /// Masks nothing any more, after this program's service has ended. If systemd starts it again, the next process takes over
  /// what is masked; and what is masked ends with the host.
  ///
  /// - Parameter service: nil outside of a service.
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
    // Of what is recorded, nobody knows whether it was masked, too.
    var own = recorded
    for target in targets.subtracting(recorded).sorted() where try await manager.canBeMasked(target) {
      own.insert(target)
    }
    guard !own.isEmpty else { return }
    try record(own)
    try await manager.mask(own.sorted())
  }

  /// Not by the bus, which may be away when something has to be unmasked.
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
