// SPDX-License-Identifier: Apache-2.0

/// Under what name a descriptor lies in the service manager's store.
///
/// The names of all of them together are one variable of the environment, `LISTEN_FDNAMES`, when they are passed
/// back, and a variable can have 128 KiB: so they are short.
nonisolated package enum StoredName: Hashable, Sendable, CustomStringConvertible {
  /// The bus's state.
  case state
  /// A client's connection; all have this name.
  case connection
  /// A file in memory; each has a number of its own, so that it can be taken out again.
  case file(UInt64)

  /// - Returns: nil when the bus gives nothing such a name.
  package init?(_ text: String) {
    switch text {
    case "state": self = .state
    case "c": self = .connection
    default:
      guard text.hasPrefix("f"), let number = UInt64(text.dropFirst(), radix: 36) else { return nil }
      self = .file(number)
      // One number is written in one way.
      guard description == text else { return nil }
    }
  }

  package var description: String {
    switch self {
    case .state: "state"
    case .connection: "c"
    case .file(let number): "f" + String(number, radix: 36)
    }
  }

  /// Bytes that it takes in the list of names, with the colon that separates it from the next.
  var listedLength: Int {
    switch self {
    case .connection: 2
    case .state, .file: description.utf8.count + 1
    }
  }
}
