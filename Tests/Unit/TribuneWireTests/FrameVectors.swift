// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension FrameVector {
  private static let restore = PeerIdentity(
    pid: 4242, uid: 34, gid: 34, process: "restore", units: PeerUnits(system: "restore@db.service"))
  private static let shell = PeerIdentity(
    pid: 777, uid: 1000, gid: 1000, process: "bash", units: PeerUnits(system: ""))
  private static let query = QueryID(rawValue: 41)
  private static let delegate = DelegateID(rawValue: 19)
  private static let identity = DelegateIdentity(id: delegate, label: "restore of db", peer: restore)
  private static let other = DelegateIdentity(id: DelegateID(rawValue: 23), label: "", peer: shell)
  private static let pictures = DelegateIdentity(id: DelegateID(rawValue: 29), label: "pictures", peer: shell)
  private static let holder = DelegateIdentity(id: DelegateID(rawValue: 37), label: "", peer: restore)
  private static let why = "a restore is reading from here"

  private static let subject = AccessSubject(uid: 1000, groups: [1000, 2001], unit: "backup.service")

  private static let bus: BusEntry = {
    var entry = BusEntry()
    entry.pid = 812
    entry.software = "tribuned 0.1"
    entry.address = "unix:/run/tribune/bus"
    entry.uptime = 90_061_000_000
    entry.connections = 3
    entry.observations = 5
    entry.delegates = 2
    entry.queries = 1
    entry.posted = 1000
    entry.delivered = 4000
    entry.lost = 7
    entry.asked = 12
    entry.vetoed = 4
    (entry.holds, entry.actions) = (6, 2)
    entry.denied = 3
    entry.refused = 8
    entry.postedBytes = 64_000
    entry.iterations = 500
    entry.busy = 70_000
    entry.longest = 900
    (entry.logUsed, entry.logMax) = (4096, 67_108_864)
    entry.kept = 9
    return entry
  }()

  private static let newerRefusal: Refusal = {
    var refusal = Refusal(.badMagic)
    refusal.rawCode = 4097
    return refusal
  }()

  static let all: [FrameVector] =
    session + notifications + keeping + delegation + queries + values + listing + protocols

  private static let session: [FrameVector] = [
    FrameVector(
      "welcome",
      Welcome(
        connection: ConnectionID(rawValue: 7), payloadMax: 16_777_216, observationsMax: 4096,
        delegatesMax: 4096, queriesMax: 1024, deadlineMax: 3_600_000, deadlineDefault: 30_000, busPID: 812,
        software: "tribuned 0.1"), serial: 0),
    FrameVector("error", Refusal(.invalidName), serial: 12, text: #""a..b" is not a valid name"#),
    FrameVector("error-unknown-code", newerRefusal, serial: 0, text: "später"),
    FrameVector("ok", Okay(), serial: 12),
    FrameVector("ok-observed", Okay(registration: 4, retained: 3), serial: 4),
    FrameVector("ok-attached", Okay(registration: 3, delegate: 19, late: 2), serial: 3),
    FrameVector(
      "ok-held", Okay(registration: 6, delegate: 20, expiry: 1_000_000_000_000), serial: 6),
    FrameVector("cancel", Cancel(target: 5), serial: 11),
    FrameVector(
      "error-restarted", Refusal(.restarted), serial: 0,
      text: "the bus was restarted while a frame was under way"),
    FrameVector("succeed", Succeed(predecessor: ConnectionID(rawValue: 7), received: 1000), serial: 56),
  ]

  private static let notifications: [FrameVector] = [
    FrameVector(
      "post", Post(), flags: .acknowledge, serial: 12, name: "archive.didPrune", object: "folder/backups",
      text: #"{"removed": 3}"#),
    FrameVector("post-stamped", Post(), sender: 7, serial: 13, name: "window.didClose", object: "window/42"),
    FrameVector(
      "post-binary", Post(), serial: 14, name: "a", object: "Fenster/größte",
      payload: [0x00, 0xFF, 0x80, 0x0A]),
    FrameVector("lost", Lost(count: 3), serial: 0),
    FrameVector("observe", Observe(), serial: 2, name: "archive.**", object: "folder/backups"),
    FrameVector("observe-any", Observe(), serial: 3),
    FrameVector("monitor", Monitor(), serial: 30, name: "archive.**"),
    FrameVector(
      "traffic",
      Traffic(time: 1_767_225_600_000_000, from: ConnectionID(rawValue: 7), to: .bus, receivers: 2),
      serial: 30,
      payload: FrameVector(
        "post-stamped", Post(), sender: 7, serial: 13, name: "window.didClose", object: "window/42"
      ).encoded()),
  ]

  private static let keeping: [FrameVector] = [
    FrameVector(
      "post-retained", Post(options: [.retain, .coalesceByObject], style: .whenIdle), serial: 47,
      name: "archive.state", object: "folder/backups", text: #"{"free": 7}"#),
    FrameVector(
      "post-bound", Post(options: [.retain, .bound]), serial: 61, name: "archive.state",
      object: "folder/backups",
      text: "true"),
    FrameVector(
      "post-awaited", Post(options: [.immediately, .awaited], deadline: 30_000), serial: 48,
      name: "volume.willUnmount", object: "volume/1"),
    FrameVector(
      "post-descriptor", Post(length: 65_536), flags: .descriptor, sender: 7, serial: 49,
      name: "archive.didPrune"),
    FrameVector(
      "observe-retained", Observe(options: [.retained, .awaited], suspension: .hold), serial: 50,
      name: "archive.*"),
    FrameVector("suspend", Suspend(isSuspended: true), serial: 51),
    FrameVector("suspend-resume", Suspend(isSuspended: false), serial: 52),
    FrameVector("pace", Pace(limit: .max), serial: 0),
    FrameVector("room", Room(limit: 4_294_971_392), serial: 0),
    FrameVector(
      "retained", Retained(age: 2_000_000), sender: 9, serial: 50, name: "archive.state",
      object: "folder/backups", text: #"{"free": 7}"#),
    FrameVector(
      "poster", PosterFacts(connection: ConnectionID(rawValue: 9), slot: 5, peer: restore), serial: 0),
    FrameVector(
      "poster-gone", PosterFacts(connection: ConnectionID(rawValue: 7), slot: 0, peer: .gone(of: 34)),
      serial: 0),
    FrameVector("done", Done(poster: ConnectionID(rawValue: 7), post: 48), serial: 53),
    FrameVector(
      "done-failed", Done(poster: ConnectionID(rawValue: 7), post: 48, hasFailed: true), serial: 54,
      text: "2 files are open"),
    FrameVector(
      "awaited",
      Awaited(
        acknowledged: 1,
        missing: [
          MissingObserver(
            connection: ConnectionID(rawValue: 8), peer: shell, failure: .failed, reason: "2 files are open",
            elapsed: 1500),
          MissingObserver(
            connection: ConnectionID(rawValue: 9), peer: restore, failure: .timedOut, reason: "",
            elapsed: 30_000_000),
        ]), serial: 48),
    FrameVector("list-retained", List(.retained), serial: 55),
    FrameVector(
      "entry-retained",
      Entry.retained(
        RetainedEntry(
          connection: ConnectionID(rawValue: 9), uid: 34, name: "archive.state", object: "folder/backups",
          length: 11, age: 2_000_000)), serial: 55),
  ]

  private static let delegation: [FrameVector] = [
    FrameVector(
      "attach",
      Attach(
        order: -10, failurePolicy: .abstain, timeout: 2500, label: "restore of db",
        patterns: ["archive.shouldPrune", "window.*"]), serial: 3, object: "folder/backups"),
    FrameVector("attach-any", Attach(patterns: ["**"]), serial: 4),
    FrameVector(
      "attach-set",
      Attach(
        label: "taps", patterns: ["scrollView.didTap", "scrollView.*"], isSet: true,
        protocols: ["TapScrollViewDelegate", "Printable"]), serial: 31, object: "view/1"),
    FrameVector("hold", Hold(), serial: 38, name: "archive.**", object: "folder/backups", text: why),
    FrameVector(
      "hold-expiry", Hold(expiry: 3_600_000_000_000, label: "backup"), serial: 39, name: "unit.shouldRestart",
      text: "backup"),
    FrameVector(
      "hold-holder", Hold(label: "logind:backup", holder: restore), serial: 43, name: "host.shouldReboot",
      text: why),
    FrameVector(
      "hold-last", Hold(label: "backup", isLast: true), serial: 42, name: "unit.shouldRestart", text: "backup"
    ),
    FrameVector("amend", Amend(target: 38), serial: 57, text: "backup at 40 %"),
    FrameVector(
      "ended-replaced",
      Ended.replaced(
        DelegateEntry(
          connection: ConnectionID(rawValue: 8), delegate: pictures, object: "folder/backups", order: 0,
          failurePolicy: .veto, timeout: 5000, patterns: ["archive.shouldPrune"])), serial: 3),
    FrameVector("ended-expired", Ended.expired, serial: 39),
    FrameVector("ended-not-permitted", Ended.notPermitted("denied by 20.policy:4"), serial: 39),
    FrameVector("declare", Declare(protocolName: "ScrollViewDelegate"), serial: 40, object: "view/1"),
    FrameVector(
      "declare-definitions", Declare(protocolName: "ScrollViewDelegate"), serial: 41, object: "view/1",
      text: """
        # What a scroll view tells.
        protocol ScrollViewDelegate {
            required did scrollView.didTap (x: float, y: float)
        }

        """),
    FrameVector("declare-only-definitions", Declare(), serial: 42, text: "protocol Printable {\n}\n"),
  ]

  private static let queries: [FrameVector] = [
    FrameVector(
      "ask", Ask(deadline: 60_000, mode: .all), serial: 5, name: "archive.shouldPrune",
      object: "folder/backups", text: #"{"count": 3}"#),
    FrameVector(
      "ask-within", Ask(mode: .order, fallback: .vetoed, parent: 41), serial: 6, name: "window.shouldClose"),
    FrameVector(
      "ask-dry-run", Ask(flags: [.isDryRun, .wantsProgress]), serial: 32, name: "archive.shouldPrune",
      object: "folder/backups"),
    FrameVector(
      "ask-override", Ask(flags: .overrides, overrideReason: "the disk is full"), serial: 33,
      name: "archive.shouldPrune", object: "folder/backups"),
    FrameVector(
      "ask-begin", Ask(mode: .all, flags: .begins, slots: 1), serial: 60, name: "archive.shouldPrune",
      object: "folder/backups"),
    FrameVector(
      "begin", Begin(query: QueryID(rawValue: 0)), serial: 58, name: "archive.shouldPrune",
      object: "folder/backups"),
    FrameVector(
      "begin-last", Begin(query: query, isLast: true), serial: 59, name: "archive.shouldPrune",
      object: "folder/backups"),
    FrameVector("late", Late(delegate: DelegateID(rawValue: 37), actions: 0), serial: 38),
    FrameVector(
      "question", Question(query: query, delegate: delegate, timeout: 2500, asker: shell), sender: 9,
      serial: 3, name: "archive.shouldPrune", object: "folder/backups", text: #"{"count": 3}"#),
    FrameVector(
      "question-dry-run",
      Question(query: query, delegate: delegate, timeout: 2500, asker: shell, isDryRun: true), sender: 9,
      serial: 3, name: "archive.shouldPrune", object: "folder/backups"),
    FrameVector("answer-approve", Answer(query: query, delegate: delegate, answer: .approve), serial: 8),
    FrameVector("answer-veto", Answer(query: query, delegate: delegate, answer: .veto), serial: 9, text: why),
    FrameVector(
      "defer", Defer(query: query, delegate: delegate, extension: 10_000), serial: 10, text: "unmounting"),
    FrameVector(
      "defer-any", Defer(query: query, delegate: DelegateID(rawValue: 0), extension: 10_000),
      flags: .acknowledge, serial: 37, text: "unmounting"),
    FrameVector(
      "progress", Progress(query: query, delegate: identity, timeout: 10_000), serial: 5, text: "unmounting"),
    FrameVector(
      "progress-asked", Progress(query: query, delegate: identity, timeout: 2500, stage: .asked), serial: 32),
    FrameVector(
      "progress-settled",
      Progress(query: query, delegate: identity, timeout: 0, stage: .settled, outcome: .vetoed), serial: 32,
      text: why),
    FrameVector(
      "verdict",
      Verdict(
        query: query, verdict: .vetoed, isUnanswered: false,
        outcomes: [
          Outcome(delegate: identity, outcome: .vetoed, reason: why, elapsed: 1500),
          Outcome(delegate: other, outcome: .timedOut, reason: "", elapsed: 5_000_000),
        ]), serial: 5),
    FrameVector(
      "verdict-unanswered",
      Verdict(query: QueryID(rawValue: 42), verdict: .allowed, isUnanswered: true, outcomes: []), serial: 6),
    FrameVector(
      "verdict-omitted",
      Verdict(
        query: QueryID(rawValue: 46), verdict: .vetoed, isUnanswered: false, outcomes: [], omittedCount: 1008),
      serial: 38),
    FrameVector(
      "verdict-overridden",
      Verdict(
        query: QueryID(rawValue: 43), verdict: .allowed, isUnanswered: false,
        outcomes: [
          Outcome(delegate: holder, outcome: .held, reason: why, elapsed: 0),
          Outcome(delegate: identity, outcome: .vetoed, reason: why, elapsed: 1500),
        ], isOverridden: true), serial: 33),
    FrameVector(
      "verdict-dry-run",
      Verdict(
        query: QueryID(rawValue: 44), verdict: .vetoed, isUnanswered: false,
        outcomes: [Outcome(delegate: identity, outcome: .vetoed, reason: why, elapsed: 1500)], isDryRun: true),
      serial: 32),
    FrameVector("concluded", Concluded(query: query, delegate: delegate, conclusion: .vetoed), serial: 3),
  ]

  private static let values: [FrameVector] = [
    FrameVector(
      "ask-first", Ask(mode: .first), serial: 34, name: "timeline.page", object: "view/1",
      text: #"{"page": 2}"#),
    FrameVector(
      "ask-collect", Ask(mode: .collect, flags: [.isDryRun, .wantsProgress]), serial: 35,
      name: "timeline.page"),
    FrameVector(
      "question-value",
      Question(query: query, delegate: delegate, timeout: 5000, asker: shell, wantsValue: true), sender: 9,
      serial: 31, name: "timeline.page", object: "view/1", text: #"{"page": 2}"#),
    FrameVector(
      "answer-value", Answer(query: query, delegate: delegate, answer: .value), serial: 36,
      text: #"["a", "b"]"#),
    FrameVector(
      "verdict-values",
      Verdict(
        query: QueryID(rawValue: 45), verdict: .allowed, isUnanswered: false,
        outcomes: [
          Outcome(
            delegate: identity, outcome: .answered, reason: "", elapsed: 1500,
            value: Array(#"["a", "b"]"#.utf8)),
          Outcome(delegate: other, outcome: .answered, reason: "", elapsed: 1600),
          Outcome(delegate: pictures, outcome: .failed, reason: "no network", elapsed: 1700),
        ], isDryRun: true), serial: 35),
  ]

  private static let listing: [FrameVector] = [
    FrameVector("list", List(.delegates, connection: 7), serial: 20),
    FrameVector(
      "list-chain", List(.chain), serial: 21, name: "archive.shouldPrune", object: "folder/backups"),
    FrameVector("entry-bus", Entry.bus(bus), serial: 22),
    FrameVector(
      "entry-connection",
      Entry.connection(
        ConnectionEntry(
          id: ConnectionID(rawValue: 7), peer: restore, age: 1_000_000, observations: 1, delegates: 2,
          queries: 3, queued: 65_536, lost: 4, posted: 5, state: .paused, postedBytes: 320, delivered: 6,
          denied: 2, refused: 1, asked: 10, pauses: 4, pausedTime: 250_000)), serial: 23),
    FrameVector(
      "entry-connection-lossy",
      Entry.connection(
        ConnectionEntry(
          id: ConnectionID(rawValue: 8), peer: shell, age: 2_000_000, observations: 0, delegates: 0,
          queries: 0, queued: 0, lost: 0, posted: 0, state: [.lossy, .suspended, .notSurviving],
          buffered: 4096, coalesced: 40, delivered: 90, lossyTime: 2_500_000)), serial: 23),
    FrameVector(
      "entry-observation",
      Entry.observation(
        ObservationEntry(
          connection: ConnectionID(rawValue: 7), pattern: "archive.**", object: "folder/backups",
          suspension: .hold, isAwaited: true)), serial: 24),
    FrameVector(
      "entry-delegate",
      Entry.delegate(
        DelegateEntry(
          connection: ConnectionID(rawValue: 7), delegate: identity, object: "folder/backups", order: -10,
          failurePolicy: .abstain, timeout: 2500, patterns: ["archive.shouldPrune", "window.*"])), serial: 20),
    FrameVector("list-holds", List(.holds, connection: 7), serial: 43),
    FrameVector(
      "entry-hold",
      Entry.hold(
        HoldEntry(
          connection: ConnectionID(rawValue: 7), delegate: holder, pattern: "archive.**",
          object: "folder/backups", why: why, age: 90_000_000, remaining: 30_000_000)), serial: 43),
    FrameVector("entry-missing", Entry.missing(MissingEntry(name: "restore@db.service")), serial: 21),
    FrameVector(
      "list-access", List(AccessQuestion(action: "hold", subject: subject)), serial: 56, name: "archive.**",
      object: "folder/backups"),
    FrameVector(
      "entry-access",
      Entry.access(AccessEntry(decision: .notAllowed, line: AccessLine(), subject: subject)), serial: 56),
    FrameVector(
      "entry-near-miss",
      Entry.nearMiss(
        NearMissEntry(
          line: AccessLine(
            file: "/etc/tribune/policy.d/20.policy", number: 4, text: "allow hold archive.** group:operators"),
          lacks: "needs group:operators")), serial: 56),
    FrameVector("list-endings", List(.endings), serial: 57),
    FrameVector(
      "entry-ending",
      Entry.ending(
        EndingEntry(connection: ConnectionID(rawValue: 8), peer: shell, why: "denied by 20.policy:4")),
      serial: 57),
    FrameVector("list-departed", List(.departed, connection: 8), serial: 58),
    FrameVector(
      "entry-departed",
      Entry.departed(
        DepartedEntry(
          id: ConnectionID(rawValue: 8), peer: shell, age: 2_000_000, elapsed: 1_500_000, reason: .tooSlow,
          lost: 3, posted: 4)), serial: 58),
    FrameVector("list-verdicts", List(.verdicts), serial: 58),
    FrameVector(
      "entry-verdict",
      Entry.verdict(
        PastVerdict(
          connection: ConnectionID(rawValue: 8), number: 3, age: 2_000_000,
          fields: ["TRIBUNE_NAME=archive.shouldPrune", "TRIBUNE_VERDICT=vetoed"])), serial: 58),
    FrameVector("list-accounts", List(.accounts), serial: 59),
    FrameVector(
      "entry-account",
      Entry.account(
        AccountEntry(
          uid: 34, weight: 3, isPrivileged: false, resource: "log", used: 4096, share: 14_745_600,
          total: 20_971_520)), serial: 59),
    FrameVector("list-queries", List(.queries), serial: 60),
    FrameVector(
      "entry-query",
      Entry.query(
        QueryEntry(
          id: query, connection: ConnectionID(rawValue: 8), peer: shell, name: "archive.shouldPrune",
          object: "folder/backups", mode: .all, isDryRun: false, age: 1_500_000, remaining: 28_500_000,
          participants: [
            QueryParticipant(
              connection: .bus, delegate: holder, state: .settled, outcome: .held, reason: why, elapsed: 0,
              remaining: 0),
            QueryParticipant(
              connection: ConnectionID(rawValue: 9), delegate: identity, state: .asked, outcome: .approved,
              reason: "", elapsed: 1_500_000, remaining: 3_500_000),
          ], omittedCount: 3)), serial: 60),
    FrameVector("list-names", List(.names), serial: 61),
    FrameVector(
      "entry-name",
      Entry.name(
        NameEntry(
          name: "archive.shouldPrune", asked: 12, vetoed: 4, overridden: 1, cancelled: 2,
          outcomes: OutcomeCounts(
            approved: 8, vetoed: 3, abstained: 2, timedOut: 1, gone: 1, held: 1),
          durations: Durations(sum: 24_000, longest: 9000, first: 111, counts: [11, 0, 1]))), serial: 61),
    FrameVector("list-participants", List(.participants), serial: 62),
    FrameVector(
      "entry-participant",
      Entry.participant(
        ParticipantEntry(
          role: .delegate, label: "restore of db", unit: "restore@db.service", uid: 34,
          outcomes: OutcomeCounts(approved: 8, vetoed: 3, timedOut: 1),
          durations: Durations(sum: 5_012_000, longest: 5_000_000, first: 47, counts: [11]))), serial: 62),
    FrameVector("list-users", List(.users), serial: 63),
    FrameVector(
      "entry-user",
      Entry.user(
        UserEntry(
          uid: 34, unit: "restore@db.service", connections: 2, posted: 5, postedBytes: 320, delivered: 6,
          lost: 4, asked: 10, denied: 2, refused: 1)), serial: 63),
  ]

  private static let protocols: [FrameVector] = [
    FrameVector("list-objects", List(.objects), serial: 44),
    FrameVector("list-protocols", List(.protocols), serial: 45),
    FrameVector("list-members", List(.members), serial: 46, object: "view/1"),
    FrameVector(
      "entry-object",
      Entry.object(
        ObjectEntry(
          object: "view/1", protocolName: "ScrollViewDelegate", delegates: 2,
          connection: ConnectionID(rawValue: 9))), serial: 44),
    FrameVector(
      "entry-protocol",
      Entry.protocol(
        ProtocolEntry(
          name: "TapScrollViewDelegate", parents: ["ScrollViewDelegate", "Printable"], members: 4,
          connection: .bus, documentation: "Taps, and all else.")), serial: 45),
    FrameVector(
      "entry-member",
      Entry.member(
        MemberEntry(
          origin: "TapScrollViewDelegate", kind: .value, isRequired: false, name: "scrollView.zoomTarget",
          parameters: "()", result: "(view: ?string)", documentation: "What to zoom on.")), serial: 46),
    FrameVector(
      "entry-member-required",
      Entry.member(
        MemberEntry(
          origin: "ScrollViewDelegate", kind: .did, isRequired: true, name: "scrollView.didTap",
          parameters: "(x: float, y: float)", result: "", documentation: "")), serial: 46),
  ]
}
