// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneService

@Suite("The command line of a service", .timeLimit(.minutes(15)))
struct ServiceArgumentsTests {
  private func parse(_ line: String) throws(UsageError) -> ServiceArguments {
    try ServiceArguments(
      parsing: line.split(separator: " ").map(String.init), flags: ["--unmask"], options: ["--page"])
  }

  @Test(
    "has the action, the folder of the configuration, and the service's own options",
    arguments: [
      ("", .serve), ("--unmask", .serve), ("--check-config", .checkConfiguration), ("-h", .help),
      ("--help", .help), ("--version", .version), ("--check-config --version", .version),
    ] as [(String, ServiceArguments.Action)])
  func actions(line: String, action: ServiceArguments.Action) throws {
    #expect(try parse(line).configurationDirectory == nil)
    for more in ["--config=/x --page=/y", "--config /x --page /y"] {
      let arguments = try parse("\(line) \(more)")
      #expect(arguments.action == action && arguments.configurationDirectory == "/x")
      #expect(arguments["--page"] == "/y")
      #expect(arguments.names.contains("--unmask") == (line == "--unmask"))
    }
  }

  @Test(
    "is refused with a reason",
    arguments: [
      ("x", "unexpected argument x"), ("--x", "unknown option --x"), ("--config=", "--config needs a value"),
      ("--page", "--page needs a value"), ("--help=1", "--help takes no value"),
      ("--unmask=1", "--unmask takes no value"), ("--config=/a --config=/b", "--config is given twice"),
      ("--x=1", "unknown option --x=1"),
    ])
  func errors(line: String, reason: String) {
    let error = #expect(throws: UsageError.self) { _ = try parse(line) }
    #expect(error?.description == reason)
  }
}
