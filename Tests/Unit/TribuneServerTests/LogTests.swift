// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneServer
import TribuneService

@Suite("The log")
struct LogTests {
  @Test("goes to the journal only if the descriptor is the stream that systemd connected")
  func destination() throws {
    let folder = try TemporaryFolder()
    try folder.write("stream", "")
    let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: folder.path + "/stream"))
    defer { #expect(throws: Never.self) { try file.close() } }
    let attributes = try FileManager.default.attributesOfItem(atPath: folder.path + "/stream")
    let device = try #require(attributes[.systemNumber] as? NSNumber).uint64Value
    let inode = try #require(attributes[.systemFileNumber] as? NSNumber).uint64Value

    let cases: [(String, LogDestination)] = [
      ("\(device):\(inode)", .journal),
      ("\(device):\(inode + 1)", .standardError),
      ("\(device + 1):\(inode)", .standardError),
      ("\(device):\(inode):", .standardError),
      (" \(device):\(inode)", .standardError),
      ("\(device)", .standardError),
      (":", .standardError),
      ("", .standardError),
    ]
    for (stream, expected) in cases {
      #expect(LogDestination.of(file.fileDescriptor, journalStream: stream) == expected, "\(stream)")
    }
    #expect(LogDestination.of(1_000_000, journalStream: "\(device):\(inode)") == .standardError)
  }

  @Test("goes to standard error in lines of the chosen levels, with the text of peers escaped")
  func lines() async throws {
    let result = try #require(
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        await MainActor.run {
          let log = Log(level: .notice, destination: .standardError)
          log.error("one", ["TRIBUNE_NAME": "not on a line"])
          log.warning("two\ntribuned: three")
          log.notice("\u{1B}[31mred \u{202E}")
          log.info("four")
          log.debug("five")
          log.level = .debug
          log.info("six")
          log.write(.debug, "seven")
          log.level = .error
          log.warning("eight")
        }
      })
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(
      text.split(separator: "\n") == [
        "tribuned: one",
        "tribuned: two\\ntribuned: three",
        "tribuned: \\u{1b}[31mred \\u{202e}",
        "tribuned: six",
        "tribuned: seven",
      ])
  }

  @Test("does not build messages that it omits")
  @MainActor func autoclosure() {
    let log = Log(level: .warning, destination: .standardError)
    var isBuilt = false
    func message() -> String {
      isBuilt = true
      return ""
    }
    log.info(message(), ["TRIBUNE_NAME": message()])
    #expect(!isBuilt)
  }

  @Test("survives a closed standard error")
  func closedStandardError() async {
    await #expect(processExitsWith: .success) {
      await MainActor.run {
        close(STDERR_FILENO)
        Log(destination: .standardError).error("to nobody")
      }
    }
  }
}
