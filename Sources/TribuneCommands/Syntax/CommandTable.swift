// SPDX-License-Identifier: Apache-2.0

/// The one table of verbs and options. The parser, the help, the man page and the completions are made from it.
///
/// An option that several verbs share takes the same kind of argument in each, so that it may stand before the verb.
/// Its summary may differ.
struct CommandTable: Sendable {
  var globals: [OptionSyntax]
  var verbs: [VerbSyntax]

  static let standard = CommandTable(globals: globalOptions, verbs: allVerbs)

  /// The row of a verb.
  func syntax(of verb: VerbName) -> VerbSyntax? {
    verbs.first { $0.verb == verb }
  }

  /// The options of a verb: its own, and the global ones that it does not redefine.
  func options(of verb: VerbName) -> [OptionSyntax] {
    let own = syntax(of: verb)?.options ?? []
    return own + globals.filter { global in !own.contains { $0.option == global.option } }
  }

  /// The first option for which `matches` holds, among the global options and those of all verbs.
  func anyOption(where matches: (OptionSyntax) -> Bool) -> OptionSyntax? {
    if let option = globals.first(where: matches) { return option }
    for verb in verbs {
      if let option = verb.options.first(where: matches) { return option }
    }
    return nil
  }
}

private let globalOptions = [
  OptionSyntax(.address, "address", .text("unix:PATH"), "where the bus listens; else $TRIBUNE_ADDRESS"),
  OptionSyntax(
    .json, "json", .choice(["short", "pretty", "off"]), "print JSON, one object a line, or indented"),
  OptionSyntax(.shortJSON, nil, letter: "j", "like --json=pretty on a terminal, --json=short elsewhere"),
  OptionSyntax(.noLegend, "no-legend", "print no headers and no totals"),
  OptionSyntax(.noPager, "no-pager", "start no pager; tribunectl never does"),
  OptionSyntax(.quiet, "quiet", letter: "q", "print no verdict and no ready line, only what is wrong"),
  OptionSyntax(.timeout, "timeout", .span, "how long to wait for the bus (30s)"),
  OptionSyntax(
    .reconnect, "reconnect", .span, "how long to look for the bus when it is gone (10s); 0 for not at all"),
  OptionSyntax(.help, "help", letter: "h", "print this help"),
  OptionSyntax(.version, "version", "print the version"),
]

private let object = OptionSyntax(
  .object, "object", .text("OBJECT"), "what it is about, such as unit/nginx.service")

private let allVerbs = [
  VerbSyntax(
    verb: .list, operands: "", operandCount: 0...0,
    summary: "List the connections",
    description: [
      "Lists who is connected to the bus, with what each has registered and has waiting. QUEUED is how many "
        + "bytes wait to be read by it, LOST how many notifications it has lost. STATE is paused while the bus "
        + "does not read what it posts, because an observer is slow; lossy while it loses notifications, because "
        + "it does not read them; suspended while it wants none; heldBytes, with --json, is what is buffered for it. "
        + "It is not surviving while it would end with a bus that dies: the keeper has no copy of it, or the log "
        + "no room for what it has registered.",
      "With --retained, lists the notifications that the bus has retained, by name and object.",
    ],
    options: [OptionSyntax(.retained, "retained", "list what is retained")]),
  VerbSyntax(
    verb: .status, operands: "[CONNECTION]", operandCount: 0...1,
    summary: "Show the bus, or one connection",
    description: [
      "Shows the bus's figures; or one connection, :N or N, with its observations and delegates."
    ],
    options: []),
  VerbSyntax(
    verb: .monitor, operands: "[PATTERN…]", operandCount: 0...Int.max,
    summary: "Show everything that passes",
    description: [
      "Shows each message under names that match, who sent it, to whom, and what came of it, until it is "
        + "interrupted. Without a pattern it shows every frame, also those that have no name."
    ],
    options: []),
  VerbSyntax(
    verb: .capture, operands: "[PATTERN…]", operandCount: 0...Int.max,
    summary: "Record everything that passes, for Wireshark",
    description: [
      "Writes what monitor would show to standard output as a pcapng file, one packet for each frame, until it is "
        + "interrupted: send it to a file, or into a program. Of a frame over 256 KiB, that much is written, which "
        + "is as much as Wireshark reads.",
      "To look at it: wireshark -X lua_script:tribune.lua FILE, or tshark -X lua_script:tribune.lua -r FILE, with the "
        + "dissector that is installed as share/tribune/tribune.lua. To look at it as it comes, pipe it into either "
        + "with -i - (and -k).",
      "When the bus was gone and is back, and something was missed, that is said on standard error, also with "
        + "--quiet. Where nobody knows how much it was, the next packet has a comment that says so.",
      "Says \"capturing …\" on standard error once the bus has confirmed.",
    ],
    options: [
      OptionSyntax(
        .count, nil, letter: "N", .number("COUNT", 1...Int64.max), "end after so many frames")
    ]),
  VerbSyntax(
    verb: .post, operands: "NAME [JSON]", operandCount: 1...2,
    summary: "Post a notification",
    description: [
      "Posts a notification, and returns when the bus has it. JSON is its userInfo; where it is -, that is read "
        + "from standard input, as it has to be from 128 KiB on.",
      "With --retain the bus keeps it as the last of its name and object, for observers that want what is "
        + "retained; without JSON, it clears what was kept, and is delivered like any other.",
      "With --style=asap it is delivered when the bus has read what it is reading, with idle when the bus has "
        + "nothing else to do, after 1s at the latest. With --coalesce it takes the place of those of this "
        + "user that wait and have the same name, object, or both.",
      "With --wait it returns when all who observe it with --awaited have acknowledged it, or at the deadline. "
        + "Exits with 0 when all have, and when there are none; with 1 when not, and says who has not; with 255 "
        + "when the bus gives no answer.",
    ],
    options: [
      object,
      OptionSyntax(.retain, "retain", "keep it for observers to come; without JSON, clear what is kept"),
      OptionSyntax(
        .coalesce, "coalesce", .list(["name", "object"]), "take the place of those like it that wait"),
      OptionSyntax(.style, "style", .choice(["now", "asap", "idle"]), "when it is delivered (now)"),
      OptionSyntax(
        .wait, "wait", .optionalSpan, "wait for the awaited observers (the bus's default, 30s)"),
      OptionSyntax(.immediately, "immediately", "deliver it to suspended observers, too"),
    ]),
  VerbSyntax(
    verb: .observe, operands: "PATTERN…", operandCount: 1...Int.max,
    summary: "Print notifications as they come",
    description: [
      "Prints one line for each notification under names that match any of the patterns, until it is "
        + "interrupted. In a pattern, * stands for one token, and a last ** for one or more.",
      "With --exec it runs a command for each instead, one after the other. The command gets the userInfo on "
        + "standard input, and in its environment TRIBUNE_NAME, TRIBUNE_OBJECT, TRIBUNE_SENDER (empty for the "
        + "bus itself), TRIBUNE_LOST, TRIBUNE_INTERRUPTED=1 where the bus was away and nobody knows how many "
        + "were missed, and TRIBUNE_RETAINED=1 where it was retained. When commands take longer than "
        + "notifications to come, up to 4096 of them with 64 MiB wait; then the oldest are dropped, which is "
        + "said on standard error, and TRIBUNE_LOST is how many were just before this one, else 0. One that is "
        + "interrupted ends the command that runs, and starts none for what waits. A command that cannot be "
        + "started ends it, with 127 if there is none, else with 126.",
      "With --awaited, post --wait waits until the line is written or the command has ended; a command that "
        + "does not exit with 0 has failed.",
      "Stopped with Ctrl-Z it has the bus suspend it until it goes on; --suspension says what becomes of "
        + "notifications meanwhile. A command that runs is not stopped.",
      "Says \"observing …\" on standard error once the bus has confirmed.",
    ],
    options: [
      OptionSyntax(.object, "object", .text("OBJECT"), "only what is about this object"),
      OptionSyntax(
        .count, nil, letter: "N", .number("COUNT", 1...Int64.max), "end after so many notifications"),
      OptionSyntax(.retained, "retained", "begin with what the bus has retained"),
      OptionSyntax(
        .suspension, "suspension", .choice(["coalesce", "drop", "hold", "immediately"]),
        "while it is stopped: the last of each name and object wait, none, all, or none does (coalesce)"),
      OptionSyntax(.awaited, "awaited", "have post --wait and guard --wait wait for this observer"),
      OptionSyntax(
        .exec, "exec", .command, "run a command for each; takes the rest of the line"),
    ]),
  VerbSyntax(
    verb: .ask, operands: "NAME [JSON]", operandCount: 1...2,
    summary: "Ask the delegates, and print the verdict",
    description: [
      "Asks the delegates of the object, and those of any object, before something is done. Where JSON is -, the "
        + "userInfo is read from standard input.",
      "Exits with 0 when it is allowed, 1 when it is vetoed, 2 for wrong usage, 255 when there is no "
        + "verdict, as ExecCondition= wants it.",
      "Under a delegate's command, $TRIBUNE_QUERY is the parent of the query.",
    ],
    options: [
      object,
      OptionSyntax(.timeout, "timeout", .span, "when there must be a verdict (the bus's default, 30s)"),
      OptionSyntax(
        .mode, "mode", .choice(["parallel", "all", "order"]),
        "ask all until the first veto, all for every veto, or one at a time (parallel)"),
      OptionSyntax(.override, "override", .text("WHY"), "go past the vetoes, and say why"),
      OptionSyntax(.dryRun, "dry-run", "tell the delegates that nothing will come of it"),
      OptionSyntax(
        .default, "default", .choice(["allow", "veto"]), "the verdict when nobody answers (allow)"),
      OptionSyntax(
        .ifUnreachable, "if-unreachable", .choice(["fail", "allow", "veto"]),
        "the verdict when there is no bus to ask (fail: exit with 255)"),
    ]),
  VerbSyntax(
    verb: .query, operands: "NAME [JSON]", operandCount: 1...2,
    summary: "Ask the delegates for a value",
    description: [
      "Asks the delegates of the object, and those of any object, one after the other, and prints the value "
        + "of the first that has one. Where JSON is -, the userInfo is read from standard input.",
      "Exits with 0 when there is a value, 1 when nobody has one, 2 for wrong usage, 255 when the bus gives no "
        + "answer.",
    ],
    options: [
      object,
      OptionSyntax(.collect, "collect", "ask all of them, and print every value, one a line"),
      OptionSyntax(.timeout, "timeout", .span, "when there must be an answer (the bus's default, 30s)"),
    ]),
  VerbSyntax(
    verb: .delegate, operands: "NAME…", operandCount: 0...128,
    summary: "Answer questions for as long as it runs",
    description: [
      "Joins the object's delegate chain and answers what is asked under names that match any of those "
        + "given, patterns allowed, until it is interrupted. One of --approve, --veto and --exec says how; "
        + "without any, it asks on the terminal.",
      "At the terminal it shows who asks and what for, one question at a time, and reads y, n, or n and a "
        + "reason. A question that is withdrawn, or not answered in time, is taken back. It ends with its "
        + "input; what is open then has failed, and counts as --on-failure says.",
      "The command of --exec gets the userInfo on standard input, and TRIBUNE_NAME, TRIBUNE_OBJECT, "
        + "TRIBUNE_QUERY, TRIBUNE_DELEGATE and TRIBUNE_ASKER_PID, _UID, _PROCESS, _UNIT and _CONNECTION in its "
        + "environment, and TRIBUNE_DRY_RUN=1 where nothing will come of it. It exits with 0 to approve, 1 "
        + "to veto with its output as the reason, 2 to abstain; anything else is a failure. Asked for a "
        + "value, it exits with 0 and writes it, as JSON. It is ended when the query is over; \"tribunectl "
        + "defer\" in it asks for more than --timeout.",
      "Will- and did-notifications under these names are printed, as observe does.",
      "With --directory=DIR and no NAME, each executable DIR/NAME/FILE is a delegate that responds to NAME, "
        + "called FILE, and is run as --exec runs a command. They are asked in the order of their files' "
        + "names; one that comes, goes or changes its permissions is noticed. Names that begin with . or end "
        + "with ~, .dpkg-* or .rpm* are left aside.",
      "Says \"attached …\" on standard error once the bus has confirmed.",
    ],
    options: [
      OptionSyntax(.object, "object", .text("OBJECT"), "whose delegate it is (of any object)"),
      OptionSyntax(.approve, "approve", "approve everything"),
      OptionSyntax(.veto, "veto", .text("REASON"), "veto everything"),
      OptionSyntax(.exec, "exec", .command, "let a command answer; takes the rest of the line"),
      OptionSyntax(.directory, "directory", .text("DIR"), "let the executables in DIR/NAME/ answer"),
      OptionSyntax(
        .order, "order", .number("N", Int64(Int32.min)...Int64(Int32.max)),
        "place in the chain: lower is asked earlier (0)"),
      OptionSyntax(
        .onFailure, "on-failure", .choice(["veto", "abstain"]), "what silence or a failure counts as (veto)"),
      OptionSyntax(
        .timeout, "timeout", .span, "time for an answer (the bus's default, 5s; at the terminal 1min)"),
      OptionSyntax(.set, "set", "take the place of the object's other delegates; they are told, and end"),
      OptionSyntax(
        .conforms, "conforms", .text("PROTOCOL,…"), "the protocols that it conforms to, with commas between"),
      OptionSyntax(.label, "label", .text("TEXT"), "what verdicts call it"),
    ]),
  VerbSyntax(
    verb: .guard, operands: "ACTION", operandCount: 1...1, takesCommand: true,
    summary: "Run a command if nobody vetoes it",
    description: [
      "For the action window.close: asks window.shouldClose; if that is allowed, posts window.willClose, "
        + "runs the command, and posts window.didClose, or window.didFailToClose with how it failed.",
      "On a veto prints every reason, runs nothing and exits with 77. Exits with 255 when there is no "
        + "verdict, else with the command's status.",
      "A bus that goes while the command runs is looked for, for 10s or as long as --reconnect says; when it is back, "
        + "it has 5s to take what has become of the command. If it is not found, that is said, and the exit status "
        + "stays the command's.",
      "With --wait, the command runs when all who observe window.willClose with --awaited have acknowledged "
        + "it, or at the deadline; then it says who had not, and goes on.",
    ],
    options: [
      object,
      OptionSyntax(
        .wait, "wait", .optionalSpan, "wait for the awaited observers (the bus's default, 30s)"),
      OptionSyntax(.timeout, "timeout", .span, "when there must be a verdict (the bus's default, 30s)"),
      OptionSyntax(
        .vetoExitCode, "veto-exit-code", .number("STATUS", 0...255), "the exit status for a veto (77)"),
    ]),
  VerbSyntax(
    verb: .explain, operands: "NAME", operandCount: 1...1,
    summary: "Show who would be asked",
    description: [
      "Shows the holds that a query would meet, the delegates that are required and missing, and those that it "
        + "would be put to, in order, with their policies. Nobody is asked."
    ],
    options: [object]),
  VerbSyntax(
    verb: .hold, operands: "NAME", operandCount: 1...1, takesCommand: true, commandIsOptional: true,
    summary: "Veto for as long as it or a command runs",
    description: [
      "Vetoes all that is asked under names that match, patterns allowed, until it is interrupted or the hold "
        + "expires.",
      "With a command: runs it, passes signals on to it, holds until it has ended, and exits with its status; "
        + "with 255 when nothing could be held, and then it runs nothing. Should the bus go meanwhile, the "
        + "command goes on.",
      "Says \"holding …\" on standard error once the bus has confirmed; and when the bus was away and is there "
        + "again, whether the hold has stood all the time.",
    ],
    options: [
      OptionSyntax(.object, "object", .text("OBJECT"), "only what is about this object"),
      OptionSyntax(.why, "why", .text("REASON"), "what verdicts give as the reason; has to be given"),
      OptionSyntax(.expires, "expires", .span, "when the hold ends by itself (never)"),
    ]),
  VerbSyntax(
    verb: .holds, operands: "", operandCount: 0...0,
    summary: "List the holds",
    description: ["Lists what is held, by whom and why."],
    options: []),
  VerbSyntax(
    verb: .defer, operands: "QUERY SPAN", operandCount: 2...2,
    summary: "Ask for more time to answer a query",
    description: [
      "Gives a delegate of this user more time for its answer, from now: for what runs under it. The asker is "
        + "told, and its own deadline bounds it.",
      "Under a delegate's command the query is $TRIBUNE_QUERY, and its delegate is the one that defers; "
        + "elsewhere, the one delegate of this user that the query waits for.",
    ],
    options: [
      OptionSyntax(.status, "status", .text("TEXT"), "what to tell the asker"),
      OptionSyntax(.delegateID, "delegate", .number("ID", 1...Int64.max), "which delegate defers"),
    ]),
  VerbSyntax(
    verb: .declare, operands: "OBJECT PROTOCOL", operandCount: 2...2,
    summary: "Declare an object for as long as it runs",
    description: [
      "Declares which protocol the delegates of an object have, until it is interrupted. The object is meant as it "
        + "is written; patterns of objects are for tribuned.conf.",
      "Says \"declared …\" on standard error once the bus has confirmed.",
    ],
    options: [
      OptionSyntax(
        .definitions, "definitions", .text("FILE"), "protocols that the bus is to know meanwhile; - is stdin")
    ]),
  VerbSyntax(
    verb: .tree, operands: "", operandCount: 0...0,
    summary: "Show the objects as a tree",
    description: [
      "Shows the objects that are declared or have delegates, by the / in their names, with their protocols."
    ],
    options: []),
  VerbSyntax(
    verb: .introspect, operands: "OBJECT|PROTOCOL", operandCount: 1...1,
    summary: "Show what a protocol has",
    description: [
      "Shows the messages of an object's protocol, or of the protocol that is so called; of inherited ones, "
        + "where they come from."
    ],
    options: []),
  VerbSyntax(
    verb: .verify, operands: "FILE…", operandCount: 1...Int.max,
    summary: "Check protocol files",
    description: [
      "Reads the files together, as the bus reads protocols.d, and prints every mistake as "
        + "FILE:LINE:COLUMN: and what is wrong there. A file called - is the standard input. No bus is needed.",
      "Exits with 0 when all is right, 1 when it is not.",
    ],
    options: []),
  VerbSyntax(
    verb: .log, operands: "[NAME]", operandCount: 0...1,
    summary: "Show the verdicts of the past",
    description: [
      "Shows what was asked under names that match, patterns allowed, what the verdict was, and who vetoed "
        + "and why, as the journal has kept it, the newest last. There is no need for a bus.",
      "A time is a span before now (2h), today, yesterday, or 23:10, 2026-11-20 or \"2026-11-20 23:10\", local.",
    ],
    options: [
      OptionSyntax(.object, "object", .text("OBJECT"), "only what was about this object"),
      OptionSyntax(.since, "since", .text("TIME"), "only what is not older"),
      OptionSyntax(.lines, nil, letter: "n", .number("COUNT", 1...Int64.max), "only the last so many"),
      OptionSyntax(.directory, "directory", .text("DIR"), "read the journal's files in DIR"),
    ]),
  VerbSyntax(
    verb: .help, operands: "[VERB]", operandCount: 0...1,
    summary: "Explain tribunectl, or one verb", description: [], options: []),
  VerbSyntax(
    verb: .version, operands: "", operandCount: 0...0,
    summary: "Print the version", description: [], options: []),
]
