// SPDX-License-Identifier: Apache-2.0

/// The version of the programs; the protocol's is `Hello.currentVersion`.
package enum Version {
  package static let current = "0.9.0"
}
