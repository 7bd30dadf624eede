// SPDX-License-Identifier: Apache-2.0

import TribuneCore

/// The connections that receive lists: those of privileged users first, then those of other users in turns.
struct ListTurns {
  private var users: [User] = []
  private var sessions: [UInt32: [Session]] = [:]

  var isEmpty: Bool { users.isEmpty }

  mutating func append(_ session: Session) {
    if sessions[session.user.uid] == nil { append(session.user) }
    sessions[session.user.uid, default: []].append(session)
  }

  mutating func removeNext() -> Session {
    let user = users.removeFirst()
    guard var rest = sessions.removeValue(forKey: user.uid) else {
      preconditionFailure("user \(user.uid) has a turn, and no list")
    }
    let session = rest.removeFirst()
    if !rest.isEmpty {
      sessions[user.uid] = rest
      append(user)
    }
    return session
  }

  private mutating func append(_ user: User) {
    let unprivileged = user.isPrivileged ? users.firstIndex { !$0.isPrivileged } : nil
    users.insert(user, at: unprivileged ?? users.count)
  }
}
