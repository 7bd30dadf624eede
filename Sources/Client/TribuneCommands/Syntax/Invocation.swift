// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A parsed command line.
struct Invocation: Equatable, Sendable {
  enum Value: Equatable, Sendable {
    case flag
    case text(String)
    case span(TimeSpan)
    case number(Int64)
    case words([String])
  }

  var verb: VerbName
  var operands: [String] = []
  /// The command after `--` or `--exec`, as bytes.
  var command: [[UInt8]] = []
  var values: [Option: Value] = [:]

  func has(_ option: Option) -> Bool { values[option] != nil }

  /// The text or the word that was given.
  func text(_ option: Option) -> String? {
    guard case .text(let text) = values[option] else { return nil }
    return text
  }

  /// Whether the option was given with nothing but white space, as `--why="$REASON"` is where the variable is unset.
  func isBlank(_ option: Option) -> Bool { text(option)?.allSatisfy(\.isWhitespace) == true }

  /// The words that were given, repetitions included.
  func words(_ option: Option) -> [String] {
    guard case .words(let words) = values[option] else { return [] }
    return words
  }

  func span(_ option: Option) -> TimeSpan? {
    guard case .span(let span) = values[option] else { return nil }
    return span
  }

  func number(_ option: Option) -> Int64? {
    guard case .number(let number) = values[option] else { return nil }
    return number
  }
}
