// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Accepted connections that wait for admission.
///
/// Admission takes much longer than accepting, because the bus identifies the peer. The bus therefore admits
/// connections within their users' shares of the iteration's time (`TimeShares`).
final class Arrivals {
  private final class Arrival {
    var socket: FileDescriptor?
    let credentials: PeerCredentials
    let user: User
    let isVarlink: Bool

    init(
      _ socket: consuming FileDescriptor, _ credentials: PeerCredentials, _ user: User,
      isVarlink: Bool
    ) {
      (self.credentials, self.user, self.isVarlink) = (credentials, user, isVarlink)
      self.socket = .some(socket)
    }
  }

  private let accounts: Accounts
  private let timeShares: TimeShares
  /// In a cell, because every iteration reads this array, and `Cell` avoids the check for exclusive access.
  private let waiting = Cell<[Arrival]>([])

  init(_ accounts: Accounts, _ timeShares: TimeShares) {
    (self.accounts, self.timeShares) = (accounts, timeShares)
  }

  @inline(__always) var isEmpty: Bool { waiting.value.isEmpty }

  func append(
    _ socket: consuming FileDescriptor, _ credentials: PeerCredentials, _ user: User,
    isVarlink: Bool
  ) {
    accounts.charge(1, of: .connections, to: user.account)
    waiting.value.append(Arrival(socket, credentials, user, isVarlink: isVarlink))
  }

  /// - Throws: `admit`'s error. The connections behind the failed one continue to wait.
  func admit(
    _ admit: (consuming FileDescriptor, PeerCredentials, User, _ isVarlink: Bool) throws(Errno) -> Void
  ) throws(Errno) {
    guard !isEmpty else { return }
    var left: [Arrival] = []
    var next = 0
    defer { waiting.value.replaceSubrange(..<next, with: left) }
    while next < waiting.value.count {
      let arrival = waiting.value[next]
      next += 1
      guard
        left.last?.user !== arrival.user && timeShares.hasTime(for: arrival.user, isMuchWork: true)
      else {
        left.append(arrival)
        continue
      }
      accounts.charge(-1, of: .connections, to: arrival.user.account)
      guard let socket = arrival.socket.take() else { preconditionFailure("an arrival has its socket") }
      try admit(socket, arrival.credentials, arrival.user, arrival.isVarlink)
    }
  }
}
