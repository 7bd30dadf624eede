// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A `[Signal]` section of signals.conf.
nonisolated package struct SignalRule: Equatable, Sendable {
  package var interface: String
  package var member: String
  /// The bridge ignores signals of other senders, because any process can send any signal.
  package var sender: String
  package var path: String?
  package var post: String?
  package var object = ""
  package var isRetained = false

  /// - Parameter signal: has the form `INTERFACE.MEMBER`.
  package init?(signal: String) {
    let parts = signal.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count >= 3, signal.utf8.count <= 255, parts.allSatisfy(Self.isElement) else { return nil }
    interface = parts.dropLast().joined(separator: ".")
    member = String(parts[parts.count - 1])
    sender = Self.owner(of: interface)
  }

  static func owner(of interface: String) -> String {
    interface.split(separator: ".").dropLast().joined(separator: ".")
  }

  private static func isElement(_ part: Substring) -> Bool {
    guard let first = part.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
      return false
    }
    return part.utf8.allSatisfy(isWordByte)
  }

  private static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  /// True if the text can stand between quotes in a D-Bus match rule.
  package static func isPlain(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 255
      && text.utf8.allSatisfy {
        isWordByte($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "-")
          || $0 == UInt8(ascii: ":")
      }
  }
}
