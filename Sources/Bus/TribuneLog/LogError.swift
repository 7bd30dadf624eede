// SPDX-License-Identifier: Apache-2.0

package import TribuneSystem

package enum LogError: Error, Equatable, Sendable, CustomStringConvertible {
  case foreign
  /// If another process shortened the file, the kernel would kill this process on access to a missing page.
  case notSealed
  case truncated
  case newer(version: UInt32)
  case damaged
  case tooManyRecoveries(UInt32)
  case failed(Errno)

  package var description: String {
    switch self {
    case .foreign: "it is not a write-ahead log"
    case .notSealed: "its length is not sealed"
    case .truncated: "it is truncated"
    case .newer(let version): "its version \(version) is newer than \(LogHeader.version), the last known"
    case .damaged: "its header is damaged"
    case .tooManyRecoveries(let count): "\(count) processes in a row have died while they recovered from it"
    case .failed(let error): "it cannot be mapped: \(error)"
    }
  }
}

package struct LogDamage: Equatable, Sendable, CustomStringConvertible {
  package let position: EntryPosition
  /// The number of bytes from the damaged entry to the log's end. The log drops all of them.
  package let unreadLength: Int

  package var description: String {
    "the entry at \(position.offset) is damaged; with it, \(unreadLength) bytes of the log are dropped"
  }
}
