// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A journal file, made without journald.
final class MadeJournal {
  private let folder: TestFolder

  /// The folder for `tribunectl log --directory=`.
  var directory: String { "\(folder.path)/journal" }

  /// - Parameter entries: microseconds since 1970, and a line `NAME=VALUE` for each field.
  init(_ entries: [(time: UInt64, fields: String)], unit: String = "tribuned.service", uid: Int = 18) throws {
    let program = "/usr/lib/systemd/systemd-journal-remote"
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw Programs.Missing(
        description:
          "there is no \(program); \"tools/setup test\" installs the package systemd-journal-remote")
    }
    folder = try TestFolder()
    // The journal's export format.
    let text = entries.enumerated().map { index, entry in
      """
      __REALTIME_TIMESTAMP=\(entry.time)
      __MONOTONIC_TIMESTAMP=\(index + 1)
      _BOOT_ID=00000000000000000000000000000001
      _PID=17
      _UID=\(uid)
      _SYSTEMD_UNIT=\(unit)
      \(entry.fields)

      """
    }
    // An empty line ends each entry.
    try folder.write(text.joined(separator: "\n") + "\n", to: "entries.export")
    try folder.write("", to: "journal/placeholder")
    let made = try FinishedProgram(
      [program, "-o", "\(directory)/made.journal", "\(folder.path)/entries.export"])
    guard made.status == 0, folder.contains("journal/made.journal") else {
      throw Programs.Missing(description: "\(program) made no journal: \(made.errors)")
    }
  }
}
