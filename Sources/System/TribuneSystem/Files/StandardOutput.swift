// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneWire

/// The standard output.
package enum StandardOutput {
  package static let rawDescriptor: CInt = STDOUT_FILENO

  package static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  /// The columns of the terminal; nil if there is none, or if its width is unknown.
  package static var columns: Int? { terminalSize?.columns }

  /// The size of the terminal in characters; nil if there is none, or if its width is unknown.
  package static var terminalSize: (rows: Int, columns: Int)? { sizeOfTerminal(STDOUT_FILENO) }

  /// Has the C library take text for UTF-8, which the programs write whatever the environment says.
  ///
  /// - Returns: false if the host lacks the locale C.UTF-8, which every glibc has.
  package static func useUTF8() -> Bool { unsafe setlocale(LC_CTYPE, "C.UTF-8") != nil }

  /// Writes all of the bytes, and blocks the caller's thread until the reader has taken them.
  ///
  /// - Throws: `Errno.brokenPipe` if no process reads any more. The process must ignore or block SIGPIPE.
  package static func write(_ bytes: [UInt8]) throws(Errno) { try writeAll(bytes, to: STDOUT_FILENO) }

  /// Writes a text that is all that a program was started for.
  ///
  /// - Returns: the exit status.
  package static func show(_ text: String, by program: String) -> Int32 {
    do throws(Errno) {
      try write(Array("\(text)\n".utf8))
      return 0
    } catch {
      StandardError.writeLine("\(program): standard output: \(error)")
      return 1
    }
  }
}

/// The standard error.
package enum StandardError {
  package static let rawDescriptor: CInt = STDERR_FILENO

  package static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// The columns of the terminal; nil if there is none, or if its width is unknown.
  package static var columns: Int? { sizeOfTerminal(STDERR_FILENO)?.columns }

  /// Writes all of the bytes, and blocks the caller's thread until the reader has taken them. A failure is ignored:
  /// there is nowhere else to report it.
  package static func write(_ bytes: [UInt8]) {
    do throws(Errno) {
      try writeAll(bytes, to: STDERR_FILENO)
    } catch {
      return
    }
  }

  /// Writes the text and a line break in one call, so that lines of several processes do not mix. Does not wait if
  /// standard error does not block. A failure is ignored: there is nowhere else to report it.
  package static func writeLine(_ text: String) {
    let line = Array("\(text)\n".utf8)
    while unsafe Glibc.write(STDERR_FILENO, line, line.count) == -1, errno == EINTR {}
  }
}

extension StandardError {
  /// The most bytes that a pipe takes at once, or not at all: pipe(7).
  private static let pipeLength = 4096

  /// Writes the text, cut to what a pipe takes at once, and a line break, if nobody has to wait for that.
  ///
  /// - Returns: whether it was written.
  package static func writeLineAtOnce(_ text: String) -> Bool {
    do throws(Errno) {
      guard try Poll.wait(for: STDERR_FILENO, forWriting: true, timeout: .zero) else { return false }
    } catch {
      return false
    }
    writeLine(text.prefix(utf8Length: pipeLength - 1))
    return true
  }
}

private func sizeOfTerminal(_ descriptor: CInt) -> (rows: Int, columns: Int)? {
  var size = winsize()
  guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
  return (Int(size.ws_row), Int(size.ws_col))
}

private func writeAll(_ bytes: [UInt8], to descriptor: CInt) throws(Errno) {
  var written = 0
  while written < bytes.count {
    do throws(Errno) {
      written += try retrying {
        unsafe bytes.withUnsafeBytes { bytes in
          let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[written...])
          return unsafe write(descriptor, rest.baseAddress, rest.count)
        }
      }
    } catch  where error == .again {
      // Another process has made the pipe or the terminal non-blocking.
      _ = try Poll.wait(for: descriptor, forWriting: true)
    }
  }
}
