// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneServer

@Suite("The daemon's command line")
struct DaemonArgumentsTests {
  private func parse(_ line: String) throws -> DaemonArguments {
    try DaemonArguments(
      parsing: line.split(separator: " ", omittingEmptySubsequences: false).map(String.init))
  }

  @Test("without arguments, it runs the system's bus without a keeper")
  func nothing() throws {
    let arguments = try DaemonArguments(parsing: [])
    #expect(arguments == DaemonArguments())
    #expect(arguments.action == .serve && arguments.keeperPath == nil && !arguments.replaces)
  }

  @Test("a value follows its option after an equals sign or a space", arguments: ["=", " "])
  func values(separator: String) throws {
    let arguments = try parse(
      ["--listen", "--keeper", "--config"].map { "\($0)\(separator)/\($0.dropFirst(2))" }.joined(
        separator: " "))
    #expect(arguments.listenPath == "/listen")
    #expect(arguments.keeperPath == "/keeper")
    #expect(arguments.configurationDirectory == "/config")
    #expect(arguments.action == .serve)
  }

  @Test("a keeper listens at a path, or on the service manager's socket")
  func keeper() throws {
    #expect(try parse("--keep").action == .keep)
    #expect(try parse("--keep").listenPath == nil)
    let arguments = try parse("--keep --listen=/run/keeper")
    #expect(arguments.action == .keep && arguments.listenPath == "/run/keeper")
  }

  @Test("a replacement names its keeper, in either order of the options")
  func replace() throws {
    for line in ["--replace --keeper=/run/keeper", "--keeper /run/keeper --replace"] {
      let arguments = try parse(line)
      #expect(arguments.replaces && arguments.keeperPath == "/run/keeper")
    }
  }

  @Test("each other action has an option")
  func actions() throws {
    #expect(try parse("--check-config --user").action == .checkConfiguration)
    #expect(try parse("--check-config --user").isUserInstance)
    #expect(try parse("--version").action == .version)
    #expect(try parse("--help").action == .help && parse("-h").action == .help)
  }

  @Test(
    "wrong arguments are errors that say why",
    arguments: [
      ("--replace", "--replace needs --keeper=PATH"),
      ("--replace --listen=/run/bus", "--replace needs --keeper=PATH"),
      ("--keep --keeper=/run/keeper", "--keep can be combined with --listen=PATH only"),
      ("--replace --keep", "--keep can be combined with --listen=PATH only"),
      ("--user --keep", "--keep can be combined with --listen=PATH only"),
      ("--keeper=", "--keeper needs a value"),
      ("--keeper", "--keeper needs a value"), ("--keep=/run/keeper", "--keep takes no value"),
      ("--replace=/run/keeper --keeper=/run/keeper", "--replace takes no value"),
      ("--keep-it", "unknown option --keep-it"), ("bus", "unexpected argument bus"),
    ])
  func errors(line: String, reason: String) {
    let error = #expect(throws: DaemonArguments.UsageError.self) { _ = try parse(line) }
    #expect(error?.description == reason)
  }
}
