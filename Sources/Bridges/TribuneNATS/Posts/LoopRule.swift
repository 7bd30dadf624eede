// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

/// Keeps what crosses between hosts from crossing again.
nonisolated enum LoopRule {
  static let process = "tribune-nats"

  static let unknownPoster = "was not sent: the bus does not know who has posted it"

  static func isKnown(_ poster: Poster?) -> Bool { poster.map { !$0.process.isEmpty } ?? false }

  /// Whether a notification may be exported: nothing that a gateway has brought in, of whichever cluster. One whose poster
  /// is not known may be such a notification.
  static func allows(poster: Poster?) -> Bool {
    guard let poster else { return false }
    return !isOwn(poster) && !poster.process.isEmpty && poster.process != process
  }

  static func isOwn(_ poster: Poster?) -> Bool {
    poster?.pid.map { UInt32(bitPattern: $0) } == ThisProcess.id
  }

  /// Whether a question may be asked of other hosts: not if a gateway asks it for another host.
  static func allows(asker: Asker) -> Bool { asker.process != process }
}
