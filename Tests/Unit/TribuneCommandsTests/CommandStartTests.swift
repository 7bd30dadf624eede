// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneSystem

@testable import TribuneCommands

@Suite("A command that cannot be started", .timeLimit(.minutes(15)))
struct CommandStartTests {
  @Test("counts as not found if it is a script without its interpreter, and the message has the reason")
  func interpreter() throws {
    let script = FileManager.default.temporaryDirectory.appendingPathComponent("tribune-\(UUID())").path
    #expect(
      FileManager.default.createFile(
        atPath: script, contents: Data("#!/nonexistent\n".utf8), attributes: [.posixPermissions: 0o755]))
    defer { do { try FileManager.default.removeItem(atPath: script) } catch { Issue.record(error) } }
    for (path, status, reason) in [
      (script, 127, "its interpreter does not exist"), ("/nonexistent", 127, "No such file or directory"),
      ("nonexistent", 127, "No such file or directory in PATH, \(ProgramFile.searchPath)"),
      ("/etc/passwd", 126, "Permission denied"), ("/", 126, "Permission denied"),
      ("", 127, "No such file or directory in PATH, \(ProgramFile.searchPath)"),
      ("/etc/passwd/x", 126, "Not a directory"),
    ] as [(String, Int32, String)] {
      let command = [Array(path.utf8)]
      let thrown = #expect(throws: Errno.self) { try ChildProcess(command, signalMask: SignalMask([])) }
      let error = try #require(thrown)
      #expect(throws: error) { try ProgramFile.check(command[0]) }
      #expect(ExitStatus.ofCommand(notStarted: error) == status)
      #expect(error.message(starting: command) == "\(path) cannot be run: \(reason)")
    }
  }
}
