// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What was measured on, and with: enough to judge the figures by, and nothing that names a machine.
struct Machine: Codable, Sendable {
  var date: Date
  var kernel: String
  var processors: Int
  /// By subject, as each says it itself.
  var versions: [String: String]

  init(versions: [String: String]) {
    date = Date()
    var names = utsname()
    let isKnown = unsafe uname(&names) == 0
    let release = unsafe withUnsafeBytes(of: names.release) {
      unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
    // What stands behind the number says who built it, not what it is.
    kernel = isKnown ? "Linux \(release.prefix { $0 != "-" })" : "unknown"
    processors = ProcessInfo.processInfo.activeProcessorCount
    self.versions = versions
  }
}
