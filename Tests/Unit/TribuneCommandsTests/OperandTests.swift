// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

@testable import TribuneCommands

@Suite("Operands", .timeLimit(.minutes(15)))
struct OperandTests {
  private static func prepare(_ line: [String]) throws -> any Command {
    let invocation = try parsed(line)
    return try invocation.verb.command.init(invocation)
  }

  private static let mistakes: [(line: [String], reason: String)] = [
    (["post", "a..b"], "is not a valid name"), (["post", ""], "is not a valid name"),
    (["post", "a.*"], "is not a valid name"), (["post", "a\u{1B}"], "a\\u{1b}"),
    (["ask", String(repeating: "a", count: 256)], "255 bytes"), (["post", "a", "{"], "line 1, column 1"),
    (["post", "a", "{\"x\":1,}"], "not JSON"), (["post", "a", ""], "not JSON"),
    (["ask", "shouldA", "nul"], "not JSON"), (["post", "a", "{} {}"], "not JSON"),
    (["post", "a", "[1e999]"], "not JSON"), (["observe", "a.**.b"], "not a valid name pattern"),
    (["monitor", "a*"], "not a valid name pattern"),
    (["delegate", "a.*", "**.b", "--approve"], "not a valid name pattern"),
    (["post", "a", "--object=\u{7}"], "is not a valid object"),
    (["post", "a", "--object=\(String(repeating: "x", count: 256))"], "255 bytes"),
    (["status", "x"], "not the id of a connection"), (["status", ":"], "not the id of a connection"),
    (["status", "-1"], "unknown option"),
    (["delegate", "shouldA", "--approve", "--veto=x"], "one of --approve"),
    (["delegate", "shouldA", "--veto="], "needs a reason"),
    (["delegate", "shouldA", "--veto= "], "needs a reason"),
    (["delegate"], "needs NAME…, or --directory"),
    (["delegate", "--approve"], "needs NAME…"), (["delegate", "a", "--concluded=true"], "is for --exec"),
    (["delegate", "--directory=d", "--concluded=true"], "with --directory, add FILE.concluded"),
    (["delegate", "--directory=d", "--approve"], "one of --approve"),
    (["delegate", "a", "--directory=d"], "cannot be combined with NAME, --order, --label or --set"),
    (["delegate", "--directory=d", "--order=1"], "cannot be combined with NAME, --order, --label or --set"),
    (["delegate", "--directory=d", "--label=x"], "cannot be combined with NAME, --order, --label or --set"),
    (["delegate", "--directory="], "path of a folder"),
    (["delegate", "--directory=d", "--set"], "cannot be combined with NAME, --order, --label or --set"),
    (["delegate", "a", "--conforms=,"], "needs protocol names"),
    (["ask", "shouldA", "--timeout=0"], "more than 0"),
    (["delegate", "shouldA", "--approve", "--timeout=1y"], "at most"),
    (["help", "frob"], "unknown verb \"frob\""),
    (["help", "psot"], "unknown verb \"psot\" (did you mean post?)"),
    (["delegate", "shouldA", "--approve", "--label=\(String(repeating: "x", count: 256))"], "255 bytes"),
    (
      ["guard", String(repeating: "a", count: 247), "--", "true"],
      "\"\(String(repeating: "a", count: 247))\" is too long: the name of an action has at most 246 bytes"
    ),
    (["delegate", "shouldA", "--approve", "--label="], "--label needs a text"),
    (["guard", "a.", "--", "x"], "is not a valid name"),
    (["log", "--since=1h", "--until=2h"], "--since= must be before --until="),
    (["log", "--until=1970-01-02", "--since=1970-01-03"], "--since= must be before --until="),
    (["log", "--until=tomorrow"], "--until=: \"tomorrow\" is not a time such as 2h"),
    (["log", "--until=1960-01-01"], "--until=: \"1960-01-01\" is before 1970"),
    (["log", "-f", "--summary"], "--follow and --summary cannot be combined"),
    (["log", "--follow", "--until=now"], "--follow and --until cannot be combined"),
    (["log", "--by="], "--by needs the name of a unit"),
    (["log", "--by= "], "--by needs the name of a unit"),
  ]

  private static let delegationMistakes: [(line: [String], reason: String)] = [
    (["query", "backup.shouldPrune"], "not for a value: did you mean ask backup.shouldPrune?"),
    (["query", "a..b"], "is not a valid name"), (["query", "a", "{"], "not JSON"),
    (["ask", "shouldA", "--override="], "needs a reason"),
    (["ask", "shouldA", "--override= \t"], "needs a reason"),
    (
      ["ask", "shouldA", "--wait-until-allowed", "--dry-run"],
      "--wait-until-allowed and --dry-run cannot be combined"
    ),
    (["ask", "shouldA", "--wait-until-allowed=1h", "--override=x"], "and --override cannot be combined"),
    (["guard", "a.b", "--wait-until-allowed", "--dry-run", "--", "x"], "cannot be combined"),
    (["ask", "shouldA", "--wait-until-allowed=0"], "--wait-until-allowed must be more than 0"),
    (["guard", "a.mayB", "--", "x"], "is a message about an action: did you mean a.b?"),
    (["hold", "shouldA"], "needs --why"),
    (["hold", "shouldA", "--why="], "needs --why"), (["hold", "shouldA", "--why= "], "needs --why"),
    (["hold", "a*", "--why=b"], "not a valid name pattern"),
    (["hold", "shouldA", "--why=b", "--expires=0"], "more than 0"),
    (["hold", "shouldA", "--why=b", "--"], "needs a command"),
    (["hold", "--why=b"], "needs a NAME, or --action=ACTION"),
    (["hold", "shouldA", "--why=b", "--label=\(String(repeating: "x", count: 256))"], "255 bytes"),
    (["hold", "shouldA", "--why=b", "--label="], "--label needs a text"),
    (["hold", "shouldA", "--why=b", "--pid=1", "--", "true"], "cannot be combined"),
    (["lease", "db"], "needs a command, or one of --keep, --release and --break"),
    (["lease", "a..b", "--keep"], "is not a valid name"),
    (["lease", "db", "--release", "--keep"], "--release and --keep cannot be combined"),
    (["lease", "db", "--release", "--break=db1", "--why=x"], "--release and --break cannot be combined"),
    (["lease", "db", "--break=db1"], "--break needs --why"),
    (["lease", "db", "--break=db1", "--why= "], "--break needs --why"),
    (["lease", "db", "--break=db1", "--why=x", "--wait"], "--break and --wait cannot be combined"),
    (["lease", "db", "--keep", "--why=x"], "--why is for --break"),
    (["lease", "db", "--release", "--", "true"], "--release and --break take no command"),
    (["lease", "db", "--slots=0", "--keep"], "--slots"),
    (
      ["hold", "system.reboot", "--why=b"],
      "did you mean system.shouldReboot, or --action=system.reboot?"
    ),
    (["hold", "a.*", "system.reboot", "--why=b"], "did you mean system.shouldReboot"),
    (
      ["hold", "window.willClose", "--why=b"],
      "did you mean window.shouldClose, or --action=window.close?"
    ),
    (["hold", "a.didFailTo_x", "--why=b"], "did you mean a.should_x, or --action=a._x?"),
    (["hold", "a.shoulder", "--why=b"], "did you mean a.shouldEr, or --action=a.er?"),
    (["hold", "host.shouldreboot", "--why=b"], "did you mean host.shouldReboot, or --action=host.reboot?"),
    (["hold", "host.shouldPoweroff", "--why=b"], "is misspelt: did you mean host.shouldPowerOff, or"),
    (
      ["hold", "--action=host.poweroff", "--why=b"],
      "\"host.poweroff\" is misspelt: did you mean host.powerOff?"
    ),
    (["hold", "--action=host.rebot", "--why=b"], "did you mean host.reboot?"),
    (["hold", "--action=a.b", "--action=host.poweroff", "--why=b"], "did you mean host.powerOff?"),
    (["hold", "*.shouldreboot", "--why=b"], "did you mean *.shouldReboot?"),
    (["hold", "*", "--why=b"], "is misspelt: did you mean **?"),
    (["hold", "host.reboot.*", "--why=b"], "did you mean host.shouldReboot, or --action=host.reboot?"),
    (["delegate", "Host.*", "--veto=b"], "is misspelt: did you mean host.*?"),
    (["hold", "package.shouldChange", "--why=b"], "is misspelt: did you mean packages.shouldChange, or"),
    (["hold", "unit.shouldStart@nginx", "--why=b"], "did you mean unit/nginx.service?"),
    (
      ["hold", "--action=unit.start@nginx", "--why=b"],
      "no object of unit.shouldStart: did you mean unit/nginx."
    ),
    (["hold", "unit.*", "--object=nginx.service", "--why=b"], "did you mean unit/nginx.service?"),
    (["delegate", "unit.shouldRestart", "--object=nginx", "--veto=b"], "did you mean unit/nginx.service?"),
    (["ask", "unit.shouldRestart", "--object=units/nginx.service"], "did you mean unit/nginx.service?"),
    (["guard", "unit.restart", "--object=unit/nginx", "--", "true"], "did you mean unit/nginx.service?"),
    (["explain", "unit.shouldRestart", "--object=nginx.service"], "did you mean unit/nginx.service?"),
    (["hold", "shouldA", "shouldB", "--object=o", "--why=b"], "write NAME@OBJECT for each"),
    (["hold", "shouldA@o", "--object=o", "--why=b"], "write NAME@OBJECT for each"),
    (["hold", "shouldA@", "--why=b"], "lacks an object after @"),
    (["hold", "shouldA@o/*", "--why=b"], "NAME@OBJECT: \"o/*\" has a wildcard"),
    (["hold", "a.b@o", "--why=b"], "did you mean a.shouldB, or --action=a.b?"),
    (["hold", "*.reboot", "--why=b"], "which ends in should and a verb: did you mean *.shouldReboot?"),
    (["hold", "a.*.willReboot", "--why=b"], "did you mean a.*.shouldReboot?"),
    (["hold", "*.should", "--why=b"], "which ends in should and a verb"),
    (["hold", "--action=system.shouldReboot", "--why=b"], "did you mean system.reboot?"),
    (["hold", "shouldA", "--object=unit/*", "--why=b"], "has a wildcard"),
    (["observe", "a", "--object=unit/*"], "has a wildcard"),
    (["hold", "unit.shouldStart@unit/nginx*", "--why=b"], "\"unit/nginx*\" has a wildcard"),
    (["hold", "shouldA", "--object=any", "--why=b"], "\"any\" is no object: name none for any"),
    (["delegate", "shouldA", "--object='o'", "--veto=b"], "in quotes or blanks"),
    (["hold", "shouldA@o ", "--why=b"], "in quotes or blanks"),
    (["ask", "shouldA", "--object=**"], "has a wildcard"),
    // Delegates would never be asked about these, so the command would always run.
    (["guard", "system.shouldReboot", "--", "true"], "did you mean system.reboot?"),
    (["guard", "willReboot", "--", "true"], "did you mean reboot?"),
    (["guard", "host.poweroff", "--", "true"], "did you mean host.powerOff?"),
    (["guard", "a.didFailToURL", "--", "true"], "did you mean a.URL?"),
    (["guard", "host.should2fa", "--", "true"], "did you mean host.2fa?"),
    (["guard", "a", "--override=", "--", "true"], "needs a reason"),
    (["hold", "shouldA", "--why=\(String(repeating: "x", count: 4097))"], "4096 bytes"),
    (["defer", "x", "5s"], "is not the id of a query"), (["defer", "0", "5s"], "is not the id of a query"),
    (["defer", "1", "soon"], "not a valid time to defer by"), (["defer", "1", "0"], "more than 0"),
    (["defer", "1", "1y"], "at most"), (["defer", "1", "5s", "--delegate=0"], "--delegate"),
    (["declare", "", "P"], "needs an object"), (["declare", "a", ""], "1 to 255 bytes"),
    (["declare", "\u{7}", "P"], "is not a valid object"), (["declare", "view/*", "P"], "has a wildcard"),
    (["declare", "view/**", "P"], "[Object \"view/**\"] in tribuned.conf"),
    (["introspect", ""], "needs an object"),
  ]

  private static let notJSON: [(line: [String], reason: String)] = [
    (["post", "power.source", "ac"], #""ac" is not JSON: for a text, write '"ac"' or add --text"#),
    (["ask", "shouldA", "two words"], #"write '"two words"' or add --text"#),
    (["post", "a", "{x}"], "line 1, column"), (["post", "a", "--text"], "--text needs a text"),
    (["guard", "a.b", "--text", "--", "true"], "--text needs a text"),
    (["policy", "explain", "fly", "a.b"], "there is no action \"fly\"; there are post, retain"),
    (["policy", "explain", "aks", "a.b"], "there is no action \"aks\" (did you mean ask?)"),
    (["post", "a", "--wait=9999h 0min"], "at most 49d 17h, not 9999h 0min"),
    (["defer", "1", "100d"], "at most 49d 17h, not 100d"),
  ]

  private static let notAsked: [(line: [String], reason: String)] = [
    (["ask", "host.reboot"], "which ends in should and a verb: did you mean host.shouldReboot?"),
    (["ask", "a.b"], "did you mean a.shouldB?"), (["ask", "a.mayB"], "did you mean a.shouldB?"),
    (["ask", "host.shouldPoweroff"], "is misspelt: did you mean host.shouldPowerOff?"),
    (["explain", "host.reboot"], "did you mean host.shouldReboot?"),
    (["explain", "host.Reboot"], "did you mean host.shouldReboot?"),
    (["explain", "host.willReboot"], "did you mean host.shouldReboot?"),
    (["explain", "a.didFailToB"], "did you mean a.shouldB?"),
    (["delegate", "host.reboot", "--veto=x"], "did you mean host.shouldReboot?"),
    (["delegate", "a.b", "--veto=x"], "did you mean a.shouldB?"),
    (["delegate", "a.*", "a.b", "--approve"], "did you mean a.shouldB?"),
    (["delegate", "host.reboot", "--exec", "true"], "did you mean host.shouldReboot?"),
    (["delegate", "*.reboot", "--exec", "true"], "did you mean *.shouldReboot?"),
    (["delegate", "backup.prune"], "did you mean backup.shouldPrune?"),
    (["delegate", "a.mayB", "--exec", "true"], "did you mean a.shouldB?"),
    (["delegate", "host.willReboot", "--veto=x"], "did you mean host.shouldReboot?"),
    (["delegate", "a.willB", "a.didB", "--exec", "true"], "did you mean a.shouldB?"),
  ]

  private static let notificationMistakes: [(line: [String], reason: String)] = [
    (["post", "a", "--wait", "--style=asap"], "a --style other than now"),
    (["post", "a", "--wait=5", "--style=idle"], "a --style other than now"),
    (["post", "a", "--coalesce=name", "--wait"], "combined with --coalesce"),
    (["post", "a", "--wait=0"], "--wait must be more than 0"),
    (["post", "a", "1", "--lines"], "--lines takes the JSON from standard input"),
    (["post", "a", "--lines", "--wait"], "--lines and --wait cannot be combined"),
    (["get", "a.*"], "not a pattern: use list --retained"), (["get", "a..b"], "is not a valid name"),
    (["get", "a", "o/*"], "not a pattern: use list --retained"),
    (["get", "a", "\u{7}"], "is not a valid object"), (["get", "a", "o", "--object=o"], "given twice"),
    (["observe", "a", "--format=x", "-j"], "--format and -j cannot be combined"),
    (["observe", "a", "--format=x", "--exec", "true"], "--format and --exec cannot be combined"),
    (["top", "--delay=99ms"], "--delay must be from 100ms to 1h"),
    (["list", "--complete=names", "--json=short"], "--complete and --json cannot be combined"),
    (["post", "a", "--wait=1y"], "--wait must be more than 0, and at most"),
    (["guard", "a.b", "--wait=0", "--", "true"], "--wait must be"),
    (["observe", "a..b", "--exec", "true"], "not a valid name pattern"),
  ]

  @Test(
    "a wrong operand is a usage error with a reason",
    arguments: mistakes + delegationMistakes + notAsked + notJSON + notificationMistakes)
  func wrong(line: [String], reason: String) {
    let error = #expect(throws: (any Error).self) { _ = try Self.prepare(line) }
    let mistake = error as? CommandError
    #expect(mistake == nil || mistake?.status == 2)
    let message = mistake?.message ?? (error as? CommandLineParser.UsageError)?.message
    #expect(message?.contains(reason) == true)
  }

  @Test("no name is suggested for a hold on a name without a verb", arguments: ["should", "a.will", "*.did"])
  func noVerb(name: String) {
    let error = #expect(throws: CommandError.self) { _ = try Self.prepare(["hold", name, "--why=b"]) }
    #expect(
      error?.message == "\"\(name)\" is not the name of a question, which ends in should and a verb")
  }

  @Test(
    "valid operands are accepted",
    arguments: [
      ["post", "a"], ["post", "a.b-c_D.9", "[1,2]"], ["post", "a", "\"text\""], ["post", "a", "null"],
      ["post", "a", "123456789012345678901234567890"], ["post", "a", "\"\\u0000\""],
      ["post", "a", "--retain"], ["post", "a", "1", "--retain", "--style=idle", "--coalesce=object,name"],
      ["post", "a", "--wait", "--style=now", "--retain", "--immediately"], ["post", "a", "--coalesce=name"],
      ["guard", "a.b", "--wait", "--", "true"], ["guard", "a.b", "--wait=1min", "--", "true"],
      ["observe", "a", "--retained", "--awaited", "--suspension=immediately", "-N2", "--exec", "true"],
      ["post", "a", "--lines", "--retain", "--style=asap", "--coalesce=name"], ["get", "a"],
      ["get", "a", "file/a*b"],
      ["get", "a", "--object=o", "-j"], ["observe", "a", "--format=", "-q"], ["list", "--complete=objects"],
      ["list", "--retained"], ["observe", "**", "a.*", "b.**"], ["monitor"], ["status"], ["status", ":12"],
      ["status", "12"], ["delegate", "shouldA", "--veto=x"], ["delegate", "a"],
      ["delegate", "a", "--set", "--conforms=A,B"], ["delegate", "--directory=d", "--conforms=A"],
      ["delegate", "--directory=d", "--object=o", "--on-failure=abstain", "--timeout=1"],
      ["guard", "prune", "--", "true"], ["guard", String(repeating: "a", count: 246), "--", "true"],
      ["explain", "a.b", "--object=ä/1"], ["explain", "browser.row"], ["help", "guard"],
      ["delegate", "browser.row", "browser.shouldOpen", "browser.didOpen", "--exec", "true"],
      ["delegate", "a.shouldB", "a.willB", "a.didFailToB", "b.*", "--veto=x"],
      ["hold", "a.shouldB@repo/main@1", "c.shouldD", "--action=a.b@ä", "--action=a.c", "--why=b"],
      ["hold", "a.*", "--object=o", "--why=b"], ["post", "a", "ac", "--text"],
      ["post", "a", "--text", "--lines"],
      ["guard", "a.b", "{", "--text", "--", "true"], ["hold", "--action=a.b", "--object=o", "--why=b"],
      ["declare", "file/a*b", "P"], ["hold", "host.should2fa", "a.should_x", "a.should-x", "--why=b"],
      ["hold", "*.shouldReboot", "a.*", "**", "*.*", "--why=b"],
    ])
  func right(line: [String]) throws { _ = try Self.prepare(line) }

  @Test(
    "the options of a post are those on the command line",
    arguments: [
      ([], PostOptions()), (["--retain"], PostOptions(isRetained: true)),
      (["--immediately"], PostOptions(isImmediate: true)), (["--style=now"], PostOptions()),
      (["--style=asap"], PostOptions(style: .asap)), (["--style=idle"], PostOptions(style: .idle)),
      (["--coalesce=name"], PostOptions(coalescing: .name)),
      (["--coalesce=object"], PostOptions(coalescing: .object)),
      (
        ["--coalesce=object,name", "--style=idle", "--retain", "--immediately"],
        PostOptions(style: .idle, coalescing: [.name, .object], isRetained: true, isImmediate: true)
      ),
    ])
  func postOptions(options: [String], expected: PostOptions) throws {
    let command = try #require(try Self.prepare(["post", "a"] + options) as? PostCommand)
    #expect(command.options == expected)
  }

  @Test(
    "an action's names follow Cocoa",
    arguments: [
      ("window.close", "window.shouldClose", "window.willClose", "window.didClose", "window.didFailToClose"),
      ("prune", "shouldPrune", "willPrune", "didPrune", "didFailToPrune"),
      ("a.b.reBoot", "a.b.shouldReBoot", "a.b.willReBoot", "a.b.didReBoot", "a.b.didFailToReBoot"),
      ("a._x", "a.should_x", "a.will_x", "a.did_x", "a.didFailTo_x"),
      ("host.2fa", "host.should2fa", "host.will2fa", "host.did2fa", "host.didFailTo2fa"),
    ])
  func actions(action: String, should: String, will: String, did: String, didFailTo: String) throws {
    let names = try ActionNames(action)
    #expect([names.should, names.will, names.did, names.didFailTo] == [should, will, did, didFailTo])
  }
}
