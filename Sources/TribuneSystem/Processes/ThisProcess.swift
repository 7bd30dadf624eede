// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The identity of this process.
package enum ThisProcess {
  package static var id: UInt32 { UInt32(getpid()) }
  package static var effectiveUser: UInt32 { geteuid() }
}
