// SPDX-License-Identifier: Apache-2.0

/// The version of the programs. `Hello.currentVersion` is the version of the protocol.
package enum Version {
  package static let current = "0.9.0"
}
