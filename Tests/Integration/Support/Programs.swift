// SPDX-License-Identifier: Apache-2.0

import Foundation

enum Programs {
  struct Missing: Error, CustomStringConvertible {
    let description: String
  }

  static func folder() throws -> String {
    guard let folder = ProcessInfo.processInfo.environment["TRIBUNE_BIN_DIR"] else {
      throw Missing(
        description: "TRIBUNE_BIN_DIR does not say where the programs are; \"make test\" sets it")
    }
    return folder
  }

  static func path(of name: String) throws -> String {
    let path = "\(try folder())/\(name)"
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw Missing(description: "there is no \(path); \"make test\" makes it")
    }
    return path
  }

  /// A test that waits longer is hung.
  static let patienceSeconds = 180
}
