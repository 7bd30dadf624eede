// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneServer
import TribuneService

@Suite("The daemon's command line")
struct DaemonArgumentsTests {
  private func parse(_ line: String) throws -> DaemonArguments {
    try DaemonArguments(
      parsing: line.split(separator: " ", omittingEmptySubsequences: false).map(String.init))
  }

  private typealias Change = @Sendable (inout DaemonArguments) -> Void

  @Test("each option has its effect, in any order; a value follows after an equals sign or a space")
  func options() throws {
    let cases: [(String?, Change)] = [
      (nil, { _ in }), ("--keep", { $0.action = .keep }), ("--version", { $0.action = .version }),
      ("--help", { $0.action = .help }), ("-h", { $0.action = .help }),
      ("--keeper=/run/keeper", { $0.keeperPath = "/run/keeper" }),
      ("--keep --listen=/run/keeper", { ($0.action, $0.listenPath) = (.keep, "/run/keeper") }),
      ("--check-config --user", { ($0.action, $0.isUserInstance) = (.checkConfiguration, true) }),
      ("--check-config --live", { ($0.action, $0.asksLiveBus) = (.checkConfiguration, true) }),
      ("--listen=/a --config=/b", { ($0.listenPath, $0.configurationDirectory) = ("/a", "/b") }),
      ("--listen /a --config /b", { ($0.listenPath, $0.configurationDirectory) = ("/a", "/b") }),
      ("--keeper /run/keeper --user", { ($0.keeperPath, $0.isUserInstance) = ("/run/keeper", true) }),
    ]
    let none = DaemonArguments()
    #expect(none.action == .serve && none.keeperPath == nil)
    for (line, change) in cases {
      var expected = DaemonArguments()
      change(&expected)
      let arguments = if let line { try parse(line) } else { try DaemonArguments(parsing: []) }
      #expect(arguments == expected, "\(line ?? "no arguments")")
    }
  }

  @Test(
    "wrong arguments are errors with a reason",
    arguments: [
      ("--live", "--live needs --check-config"), ("--check-config --live=x", "--live takes no value"),
      ("--keep --keeper=/run/keeper", "--keep can be combined with --listen=PATH only"),
      ("--user --keep", "--keep can be combined with --listen=PATH only"),
      ("--keep --config=/etc", "--keep can be combined with --listen=PATH only"),
      ("--keep --check-config", "--keep can be combined with --listen=PATH only"),
      ("--keeper=", "--keeper needs a value"),
      ("--keeper", "--keeper needs a value"), ("--keep=/run/keeper", "--keep takes no value"),
      ("--listen=/a --listen=/b", "--listen is given twice"),
      ("--keeper /a --user --keeper /a", "--keeper is given twice"),
      ("--config=/a --config=/b", "--config is given twice"),
      ("--keep-it", "unknown option --keep-it"), ("bus", "unexpected argument bus"),
    ])
  func errors(line: String, reason: String) {
    let error = #expect(throws: UsageError.self) { _ = try parse(line) }
    #expect(error?.description == reason)
  }
}
