// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// Masks the targets of vetoed actions until the next boot, for systemd before 257, which does not bind root by
/// inhibitors.
///
/// A file says which ones, from before they are masked until after they are unmasked. So whoever comes next, also after
/// `kill -9`, unmasks exactly those, and none that an administrator has masked.
final class TargetMask {
  static let file = "/run/tribune-logind/masked"

  private let path: String
  private(set) var masked: Set<String>

  init(path: String = TargetMask.file) throws(Errno) {
    self.path = path
    do throws(Errno) {
      let contents = try InputFile.contents(of: path, lengthMax: 1 << 16, waits: false) ?? []
      masked = Set(String(decoding: contents, as: UTF8.self).split(separator: "\n").map(String.init))
    } catch .noSuchFile {
      masked = []
    }
  }

  /// Masks these targets, and no others.
  func update(_ targets: Set<String>, at manager: SystemdProxy) async throws(DBusError) {
    let obsolete = masked.subtracting(targets)
    if !obsolete.isEmpty {
      try await manager.unmask(obsolete.sorted())
      try record(masked.intersection(targets))
    }
    var missing: [String] = []
    for target in targets.subtracting(masked).sorted() where try await !manager.isMasked(target) {
      missing.append(target)
    }
    guard !missing.isEmpty else { return }
    try record(masked.union(missing))
    try await manager.mask(missing)
  }

  private func record(_ targets: Set<String>) throws(DBusError) {
    do throws(Errno) {
      try StateFile.write(Array(targets.sorted().map { "\($0)\n" }.joined().utf8), to: path)
    } catch {
      throw .failed(error)
    }
    masked = targets
  }
}
