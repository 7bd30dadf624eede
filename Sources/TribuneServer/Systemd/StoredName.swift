// SPDX-License-Identifier: Apache-2.0

/// The name of a descriptor in the service manager's store.
///
/// Names are short because all of them are passed back in one environment variable, `LISTEN_FDNAMES`, which is
/// limited to 128 KiB.
nonisolated package enum StoredName: Hashable, Sendable, CustomStringConvertible {
  /// The write-ahead log.
  case state
  /// A client's connection. All connections share this name.
  case connection
  /// A memory file. Each has its own number, so that it can be removed alone.
  case file(UInt64)

  /// - Returns: nil if it is none of the bus's names.
  package init?(_ text: String) {
    switch text {
    case "state": self = .state
    case "c": self = .connection
    default:
      guard text.hasPrefix("f"), let number = UInt64(text.dropFirst(), radix: 36) else { return nil }
      self = .file(number)
      // Each number has exactly one spelling.
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

  /// Bytes in the list of names, including the separating colon.
  var listedLength: Int {
    switch self {
    case .connection: 2
    case .state, .file: description.utf8.count + 1
    }
  }
}
