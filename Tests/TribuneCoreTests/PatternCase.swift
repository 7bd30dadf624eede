// SPDX-License-Identifier: Apache-2.0

import Testing

/// Something that was registered under a pattern and for an object, a message, and whether they meet.
struct PatternCase: Sendable, CustomTestStringConvertible {
  let pattern: String
  let object: String
  let name: String
  let about: String
  let meets: Bool

  init(_ pattern: String, _ object: String, _ name: String, _ about: String, _ meets: Bool) {
    self.pattern = pattern
    self.object = object
    self.name = name
    self.about = about
    self.meets = meets
  }

  var testDescription: String {
    "\(pattern)@\(object) \(meets ? "meets" : "does not meet") \(name)@\(about)"
  }
}
