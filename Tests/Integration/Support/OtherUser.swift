// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

struct OtherUser {
  let id: UInt32
  private let program: String
  private let address: String
  private let groups: [UInt32]

  /// Copies tribunectl, because another user may have no access to the programs' folder.
  init(_ id: UInt32, on address: String, in folder: TestFolder, groups: [UInt32] = []) throws {
    guard geteuid() == 0 else { throw Programs.Missing(description: "only root can act as another user") }
    (self.id, self.address, self.groups) = (id, address, groups)
    program = "\(folder.path)/tribunectl"
    guard !folder.contains("tribunectl") else { return }
    try FileManager.default.copyItem(atPath: try Programs.path(of: "tribunectl"), toPath: program)
  }

  func command(_ arguments: [String]) -> [String] {
    let groups =
      groups.isEmpty ? "--clear-groups" : "--groups=\(groups.map(String.init).joined(separator: ","))"
    return ["/usr/bin/setpriv", "--reuid=\(id)", "--regid=\(id)", groups, program, "--address=\(address)"]
      + arguments
  }

  func tribunectl(_ arguments: String...) throws -> FinishedProgram {
    try FinishedProgram(command(arguments))
  }

  func staying(_ arguments: String...) throws -> RunningProgram {
    let program = try RunningProgram(command(arguments))
    let line = try program.errors.line() ?? ""
    guard line.hasSuffix("on \(address)") else {
      throw Programs.Missing(description: "\(arguments) of user \(id) is not ready: \(line)")
    }
    return program
  }
}
