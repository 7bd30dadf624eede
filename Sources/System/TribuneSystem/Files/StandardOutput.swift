// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneWire

package enum StandardOutput {
  package static let rawDescriptor: CInt = STDOUT_FILENO

  package static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  package static var columns: Int? { terminalSize?.columns }

  package static var terminalSize: (rows: Int, columns: Int)? { sizeOfTerminal(STDOUT_FILENO) }

  /// Makes the C library use UTF-8, like this program. Returns false if the locale C.UTF-8 is missing.
  package static func useUTF8() -> Bool { unsafe setlocale(LC_CTYPE, "C.UTF-8") != nil }

  /// Writes all bytes, and blocks. Throws `Errno.brokenPipe` if the pipe has no reader. The process must
  /// ignore or block SIGPIPE.
  package static func write(_ bytes: [UInt8]) throws(Errno) { try writeAll(bytes, to: STDOUT_FILENO) }

  /// Prints the text. Returns an exit status for the program.
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

package enum StandardError {
  package static let rawDescriptor: CInt = STDERR_FILENO

  package static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// True if standard error is /dev/null. Compares device numbers, because a service's /dev can differ from
  /// the /dev in which systemd opened the file.
  package static var isNull: Bool {
    var (status, null) = (stat(), stat())
    return unsafe fstat(STDERR_FILENO, &status) == 0 && stat("/dev/null", &null) == 0
      && status.st_mode & S_IFMT == S_IFCHR && status.st_rdev == null.st_rdev
  }

  package static var columns: Int? { sizeOfTerminal(STDERR_FILENO)?.columns }

  /// Writes all bytes, and blocks. A failure cannot be reported.
  package static func write(_ bytes: [UInt8]) {
    do throws(Errno) {
      try writeAll(bytes, to: STDERR_FILENO)
    } catch {
      return
    }
  }

  /// Writes a line. The single write(2) keeps lines of several processes apart. A failure cannot be reported.
  package static func writeLine(_ text: String) {
    let line = Array("\(text)\n".utf8)
    while unsafe Glibc.write(STDERR_FILENO, line, line.count) == -1, errno == EINTR {}
  }
}

extension StandardError {
  /// The number of bytes that a pipe takes atomically: pipe(7).
  private static let pipeLength = 4096

  /// Writes a line, cut at `pipeLength` bytes. Returns false if the write would have to block.
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
      // Another process has made the descriptor non-blocking.
      _ = try Poll.wait(for: descriptor, forWriting: true)
    }
  }
}
