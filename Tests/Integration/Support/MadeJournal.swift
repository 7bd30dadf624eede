// SPDX-License-Identifier: Apache-2.0

import Foundation

final class MadeJournal {
  private let folder: TestFolder
  private let unit: String
  private let uid: Int
  private var entryCount = 0

  var directory: String { "\(folder.path)/journal" }

  /// Each entry: microseconds since 1970, and a line `NAME=VALUE` for each field.
  init(_ entries: [(time: UInt64, fields: String)], unit: String = "tribuned.service", uid: Int = 18) throws {
    (self.unit, self.uid) = (unit, uid)
    folder = try TestFolder()
    try folder.write("", to: "journal/placeholder")
    try append(entries)
  }

  func append(_ entries: [(time: UInt64, fields: String)], to file: String = "made") throws {
    let program = "/usr/lib/systemd/systemd-journal-remote"
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw Programs.Missing(
        description:
          "there is no \(program); \"tools/setup test\" installs the package systemd-journal-remote")
    }
    let text = entries.map { entry in
      entryCount += 1
      return """
        __REALTIME_TIMESTAMP=\(entry.time)
        __MONOTONIC_TIMESTAMP=\(entryCount)
        _BOOT_ID=00000000000000000000000000000001
        _PID=17
        _UID=\(uid)
        _SYSTEMD_UNIT=\(unit)
        \(entry.fields)

        """
    }
    try folder.write(text.joined(separator: "\n") + "\n", to: "entries.export")
    let made = try FinishedProgram(
      [program, "-o", "\(directory)/\(file).journal", "\(folder.path)/entries.export"])
    guard made.status == 0, folder.contains("journal/\(file).journal") else {
      throw Programs.Missing(description: "\(program) made no journal: \(made.errors)")
    }
  }
}

extension MadeJournal {
  static func verdict(
    _ name: String, vetoedBy units: [String] = [], override reason: String? = nil, microseconds: Int? = nil
  ) -> String {
    let isVetoed = !units.isEmpty && reason == nil
    let outcomes = units.map { unit in
      "{\"delegate\":5,\"label\":\"\",\"outcome\":\"vetoed\",\"process\":\"p\",\"systemUnit\":\"\(unit)\"}"
    }
    let id = reason == nil ? "7410e8ab9fd04abe9eb6b38ea90ed596" : "e7932ba2c09d4f228b9e17f54e330131"
    var fields = ["MESSAGE_ID=\(id)", "MESSAGE=m", "TRIBUNE_NAME=\(name)"]
    fields.append("TRIBUNE_VERDICT=\(isVetoed ? "vetoed" : "allowed")")
    fields.append("TRIBUNE_OUTCOMES=[\(outcomes.joined(separator: ","))]")
    if let reason { fields.append("TRIBUNE_OVERRIDE=\(reason)") }
    if let microseconds { fields.append("TRIBUNE_ELAPSED_USEC=\(microseconds)") }
    if !units.isEmpty { fields.append("TRIBUNE_VETOED_BY=p") }
    fields += units.map { "TRIBUNE_VETOED_BY_SYSTEM_UNIT=\($0)" }
    return fields.joined(separator: "\n")
  }
}
