// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneSystem
import TribuneWire

/// Standard output and standard error.
///
/// Each line is written at once, so that the reader of a pipe gets each notification as it arrives.
struct Terminal: Sendable {
  /// Why a line could not be written. A closed pipe is no error worth a message.
  struct WriteError: Error, Equatable, Sendable {
    var errno: Errno

    var isClosed: Bool { errno == .brokenPipe }
  }

  /// Whether standard output may use colours.
  let isColoured: Bool
  let isTerminal: Bool
  /// Whether standard error is a terminal on which lines can be erased.
  let errorTakesControls: Bool

  /// Inspects this process's standard output and standard error.
  init() {
    let isTerminal = isatty(STDOUT_FILENO) == 1
    self.init(
      isTerminal: isTerminal,
      isColoured: isTerminal && Self.allowsColours(environment: Environment.value(of:)),
      errorTakesControls: isatty(STDERR_FILENO) == 1
        && Self.takesControls(environment: Environment.value(of:)))
  }

  init(isTerminal: Bool, isColoured: Bool, errorTakesControls: Bool = false) {
    self.isTerminal = isTerminal
    self.isColoured = isColoured
    self.errorTakesControls = errorTakesControls
  }

  /// The rule of no-color.org; also false for terminals without colours.
  static func allowsColours(environment: (String) -> String?) -> Bool {
    if let refusal = environment("NO_COLOR"), !refusal.isEmpty { return false }
    return takesControls(environment: environment)
  }

  /// Whether the terminal understands control sequences.
  private static func takesControls(environment: (String) -> String?) -> Bool {
    guard let terminal = environment("TERM"), !terminal.isEmpty else { return false }
    return terminal != "dumb"
  }

  /// Columns of a line on standard error; 80 if unknown.
  var errorColumns: Int {
    var size = winsize()
    guard unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// Writes to the standard output.
  func write(_ text: String) throws(WriteError) {
    try write(bytes: Array(text.utf8))
  }

  func write(bytes: [UInt8]) throws(WriteError) {
    do {
      try Self.write(bytes, to: STDOUT_FILENO)
    } catch {
      throw WriteError(errno: error)
    }
  }

  func writeLine(_ line: String) throws(WriteError) {
    try write(line + "\n")
  }

  /// Writes to standard error. If that fails, there is no other place to report it.
  func report(_ message: String) {
    reportLine("tribunectl: \(message)")
  }

  func reportLine(_ line: String) {
    prompt(line + "\n")
  }

  /// Writes to standard error and leaves the cursor behind the text.
  func prompt(_ text: String) {
    do throws(Errno) {
      try Self.write(Array(text.utf8), to: STDERR_FILENO)
    } catch {
      return
    }
  }

  private static func write(_ bytes: [UInt8], to descriptor: CInt) throws(Errno) {
    var offset = 0
    while offset < bytes.count {
      do {
        offset += try retrying {
          unsafe bytes.withUnsafeBytes { bytes in
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset...])
            return unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
          }
        }
      } catch  where error == .again {
        // Another process has made the pipe or the terminal non-blocking.
        var writable = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = unsafe poll(&writable, 1, -1)
      }
    }
  }
}

/// The look of a piece of text on a terminal with colours.
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
  /// A peer's text, safe for a terminal, on one line.
  var terminalSafe: String { escaped }
}
