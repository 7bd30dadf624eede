// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The environment of the process.
package enum Environment {
  /// The variable's value; nil when it is not set.
  package static func value(of name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }

  /// Whether this process can see something at `path`.
  package static func fileExists(_ path: String) -> Bool {
    unsafe access(path, F_OK) == 0
  }
}
