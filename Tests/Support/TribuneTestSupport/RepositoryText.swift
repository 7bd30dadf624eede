// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The text of a file of this repository.
package func repositoryText(_ name: String) throws -> String {
  let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
  return try String(contentsOf: folder.appendingPathComponent("../../../\(name)"), encoding: .utf8)
}

/// A file of `config` with the settings in force that it shows: a line that is commented out has no space behind the
/// sign; what explains it has.
package func shownSettings(_ file: String) throws -> String {
  try repositoryText("config/\(file)").split(separator: "\n").map {
    $0.hasPrefix("# ") || $0 == "#" ? "" : $0.drop { $0 == "#" }
  }.joined(separator: "\n")
}
