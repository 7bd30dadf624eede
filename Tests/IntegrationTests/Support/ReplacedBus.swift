// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// A real daemon whose place others take.
final class ReplacedBus {
  /// The one that serves.
  private(set) var bus: TestBus
  /// The text of tribuned.conf, for those that are still to come.
  var configuration: String
  private var count = 0

  var path: String { bus.path }
  var folder: TestFolder { bus.folder }

  init(configuration: String = "") throws {
    self.configuration = configuration
    bus = try TestBus(configuration: configuration)
  }

  init(_ bus: TestBus) {
    self.bus = bus
    configuration = ""
  }

  /// Has another daemon take the place of this one, which ends.
  ///
  /// - Parameter wrapper: a command that starts it.
  func replace(wrapper: [String] = []) throws {
    count += 1
    let next = try TestBus(
      configuration: configuration, wrapper: wrapper, arguments: ["--replace", "--listen=\(path)"],
      folder: folder, log: "log\(count)")
    let status = bus.waitForEnd()
    guard status == 0 else {
      throw Programs.Missing(
        description: "the daemon that was replaced ends with \(status)\n\(try bus.log())")
    }
    bus = next
  }

  /// Has another daemon try the same, which is to fail.
  ///
  /// - Returns: what it says.
  func replaceInVain(
    _ arguments: [String] = [], wrapper: [String] = [], environment: [String: String] = [:]
  ) throws -> FinishedProgram {
    try FinishedProgram.tribuned(
      ["--config=\(folder.path)/etc", "--replace", "--listen=\(path)"] + arguments,
      environment: environment, wrapper: wrapper)
  }
}
