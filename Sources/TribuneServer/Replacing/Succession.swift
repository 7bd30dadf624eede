// SPDX-License-Identifier: Apache-2.0

import TribuneLog
import TribuneSystem
import TribuneWire

/// Whether another daemon is to go on with the bus.
final class Succession {
  enum State {
    /// → asked, handedOver
    case none
    /// A daemon has asked over this connection, and gets everything when the iteration ends. → none, handingOver
    case asked(Session)
    /// → none, handedOver
    case handingOver
    /// The bus goes on elsewhere: nothing happens here any more. Final.
    case handedOver
  }

  var state = State.none
  /// Whether a service manager keeps the bus's descriptors, and so replaces the daemon itself.
  private let isManaged: Bool

  init(isManaged: Bool) { self.isManaged = isManaged }

  var isHandedOver: Bool { if case .handedOver = state { true } else { false } }

  /// - Parameter logVersion: the last version of the log that the other daemon knows.
  /// - Returns: why it does not get the bus; nil if it does.
  func ask(by session: Session, logVersion: UInt32) -> WireError? {
    let user = ThisProcess.effectiveUser
    guard session.peer.uid == 0 || session.peer.uid == user else {
      return WireError(
        .notPermitted, "only user \(user), who runs the bus, and root can have it replaced")
    }
    guard !isManaged else {
      return WireError(
        .notPermitted, "a service manager keeps what the bus has: \"systemctl restart tribuned\" replaces it")
    }
    guard logVersion >= WriteAheadLog.version else {
      return WireError(
        .invalidValue,
        "the bus's state has version \(WriteAheadLog.version), and \(logVersion) is the last known")
    }
    guard case .none = state else {
      return WireError(.limitExceeded, "another daemon is just taking the place of this one")
    }
    state = .asked(session)
    return nil
  }
}
