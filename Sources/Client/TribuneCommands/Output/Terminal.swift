// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// Describes what standard output and standard error can show. Writes messages on standard error.
struct Terminal: Sendable {
  let isColoured: Bool
  let isTerminal: Bool
  /// The width of standard output; nil if it is no terminal, or if its width is unknown.
  let columns: Int?
  /// True if lines on standard error can be erased.
  let errorTakesControls: Bool
  private var errors: OutputThread?

  init() {
    let isTerminal = StandardOutput.isTerminal
    self.init(
      isTerminal: isTerminal, columns: StandardOutput.columns,
      isColoured: isTerminal && Self.allowsColours(environment: Environment.value(of:)),
      errorTakesControls: StandardError.isTerminal && Self.takesControls(environment: Environment.value(of:)))
  }

  init(isTerminal: Bool, columns: Int? = nil, isColoured: Bool, errorTakesControls: Bool = false) {
    self.isTerminal = isTerminal
    self.columns = columns
    self.isColoured = isColoured
    self.errorTakesControls = errorTakesControls
  }

  /// Follows the rule of no-color.org.
  static func allowsColours(environment: (String) -> String?) -> Bool {
    if let refusal = environment("NO_COLOR"), !refusal.isEmpty { return false }
    return takesControls(environment: environment)
  }

  private static func takesControls(environment: (String) -> String?) -> Bool {
    guard let terminal = environment("TERM"), !terminal.isEmpty else { return false }
    return terminal != "dumb"
  }

  /// Writes a message. A failure is ignored, because it cannot be reported elsewhere.
  func report(_ message: String) { reportLine("tribunectl: \(message)") }

  func reportLine(_ line: String) { prompt(line + "\n") }

  func prompt(_ text: String) {
    let bytes = Array(text.utf8)
    // If the reader of standard error has stopped, and too much output waits, this text is dropped.
    if let errors { _ = errors.write(bytes) } else { StandardError.write(bytes) }
  }

  /// A copy whose messages never wait for the reader of standard error. A slow reader must not delay a
  /// delegate's answer, or the renewal of a lost hold.
  func unblocked() -> Terminal {
    var terminal = self
    do throws(Errno) {
      terminal.errors = try OutputThread { StandardError.write($0) }
    } catch {
      report("standard error may block: \(error)")
    }
    return terminal
  }

  func flush() { errors?.flush(atMost: .seconds(1)) }
}

enum Style: String, Sendable {
  case plain = ""
  case bold = "1"
  case faint = "2"
  case red = "31"
  case green = "32"
  case yellow = "33"
  case underlined = "4"

  func apply(to text: String, isColoured: Bool) -> String {
    guard isColoured, self != .plain, !text.isEmpty else { return text }
    return "\u{1B}[\(rawValue)m\(text)\u{1B}[0m"
  }
}

extension String {
  var terminalSafe: String { escaped }

  var afterColon: String { isEmpty ? "" : ": \(self)" }
}

extension String {
  /// An upper bound of the width: a character that may be wide counts twice. A slightly short line does no
  /// harm, but a line that the terminal wraps could not be erased.
  var columnCount: Int { unicodeScalars.reduce(0) { $0 + $1.columnCount } }

  func cut(toColumns columns: Int) -> String {
    if columnCount <= columns { return self }
    var kept = String.UnicodeScalarView()
    var left = columns - 1
    for scalar in unicodeScalars {
      left -= scalar.columnCount
      if left < 0 { break }
      kept.append(scalar)
    }
    return String(kept) + (columns > 0 ? "…" : "")
  }
}

extension Unicode.Scalar {
  fileprivate var columnCount: Int { value < 0x1100 || self == "…" ? 1 : 2 }
}
