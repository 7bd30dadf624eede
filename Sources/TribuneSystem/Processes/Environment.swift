// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What the process was started with, and what lies around it.
package enum Environment {
  /// The variable's value; nil when it is not set.
  package static func value(of name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }

  /// Whether something is at `path` that this process can see.
  package static func fileExists(_ path: String) -> Bool {
    unsafe access(path, F_OK) == 0
  }
}
