// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The text of a file of this repository.
package func repositoryText(_ name: String) throws -> String {
  let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
  return try String(contentsOf: folder.appendingPathComponent("../../../\(name)"), encoding: .utf8)
}
