// SPDX-License-Identifier: Apache-2.0

import Foundation

package func repositoryText(_ name: String) throws -> String {
  let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
  return try String(contentsOf: folder.appendingPathComponent("../../../\(name)"), encoding: .utf8)
}

/// A file of `config` with its commented-out settings, which have no space after the sign, in force.
package func shownSettings(_ file: String) throws -> String {
  try repositoryText("config/\(file)").split(separator: "\n").map {
    $0.hasPrefix("# ") || $0 == "#" ? "" : $0.drop { $0 == "#" }
  }.joined(separator: "\n")
}
