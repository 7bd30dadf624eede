// SPDX-License-Identifier: Apache-2.0

/// The version of these programs; `Hello.currentVersion` is the protocol's.
package enum Version {
  package static let current = "0.1.0"
}
