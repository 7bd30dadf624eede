// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The machine and the versions that were measured: enough to judge the figures, and nothing that identifies a machine.
struct Machine: Codable, Sendable {
  var date: Date
  var kernel: String
  var processors: Int
  /// By subject, as its program prints it.
  var versions: [String: String]

  init(versions: [String: String]) {
    date = Date()
    var names = utsname()
    let isKnown = unsafe uname(&names) == 0
    let release = unsafe withUnsafeBytes(of: names.release) {
      unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
    // The text behind the number only names the build.
    kernel = isKnown ? "Linux \(release.prefix { $0 != "-" })" : "unknown"
    processors = ProcessInfo.processInfo.activeProcessorCount
    self.versions = versions
  }
}
