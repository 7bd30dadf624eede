// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

struct Tshark {
  let rows: [[String]]

  init(_ file: String, fields: [String], filter: String? = nil) throws {
    let dissector = Script.repository.appendingPathComponent("tools/tribune.lua").path
    let columns = fields.flatMap { ["-e", $0] }
    let result = try FinishedProgram(
      [
        "tshark", "-X", "lua_script:\(dissector)", "-r", file, "-T", "fields", "-E", "separator=|", "-E",
        "occurrence=f",
      ] + columns + (filter.map { ["-Y", $0] } ?? []))
    #expect(result.status == 0, "tshark: \(result.errors)")
    // As root, tshark always warns. Mistakes of the dissector appear on both outputs.
    #expect(!result.errors.contains("Lua:") && !result.output.contains("Lua Error"), "\(result.errors)")
    rows = result.output.split(separator: "\n").map { line in
      line.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
    }
  }
}
