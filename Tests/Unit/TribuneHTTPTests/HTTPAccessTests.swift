// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneHTTP
import TribuneService

@Suite("Access to a program's HTTP server", .timeLimit(.minutes(15)))
struct HTTPAccessTests {
  private func read(_ lines: (String, String)...) -> HTTPAccess {
    let section = SettingsSection<HTTPAccessReader>("Made", HTTPAccessReader.settings(of: \.self))
    var reader = SettingsReader(HTTPAccessReader(), [section])
    let text = lines.map { "\($0)=\($1)\n" }.joined()
    reader.read(Array("[Made]\n\(text)".utf8), file: "f")
    for diagnostic in reader.diagnostics {
      #expect(diagnostic.severity == .error && !diagnostic.message.isEmpty)
    }
    return reader.settings.finish().0
  }

  @Test("An unreadable token admits no client")
  func token() {
    #expect(read().lack == nil)
    #expect(read(("TokenFile", "/nonexistent")).lack != nil)
    #expect(read(("TokenFile", "token")).lack != nil)
    #expect(read(("TokenFile", "token"), ("TokenFile", "")).lack == nil)
  }

  @Test("Clients of other hosts need a readable token")
  func network() {
    #expect(!read(("AllowNetwork", "yes")).allowsNetwork)
    #expect(
      !read(("AllowNetwork", "yes"), ("AllowNetwork", "1"), ("TokenFile", "/nonexistent")).allowsNetwork)
    #expect(read(("Hosts", "a"), ("Hosts", "b/c")).hosts.isEmpty)
  }
}
