// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension FrameVector {
  private static let restore = PeerIdentity(
    pid: 4242, uid: 34, gid: 34, process: "restore", unit: "restore@db.service")
  private static let shell = PeerIdentity(pid: 777, uid: 1000, gid: 1000, process: "bash", unit: "")
  private static let query = QueryID(rawValue: 41)
  private static let delegate = DelegateID(rawValue: 19)
  private static let identity = DelegateIdentity(id: delegate, label: "restore of db", peer: restore)

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
    return entry
  }()

  private static let newerRefusal: Refusal = {
    var refusal = Refusal(.badMagic)
    refusal.rawCode = 4097
    return refusal
  }()

  /// One for each file in Vectors/ but for the hellos.
  static let all: [FrameVector] = session + notifications + delegation + listing

  private static let session: [FrameVector] = [
    FrameVector(
      "welcome",
      Welcome(
        connection: ConnectionID(rawValue: 7), payloadMax: 16_777_216, observationsMax: 4096,
        delegatesMax: 4096, queriesMax: 1024, deadlineMax: 3_600_000, deadlineDefault: 30_000, busPID: 812,
        software: "tribuned 0.1"),
      serial: 0),
    FrameVector(
      "error", Refusal(.invalidName), serial: 12, payload: Array(#""a..b" is no name"#.utf8)),
    FrameVector("error-unknown-code", newerRefusal, serial: 0, payload: Array("später".utf8)),
    FrameVector("ok", Okay(), serial: 12),
    FrameVector("ok-attached", Okay(registration: 3, delegate: 19), serial: 3),
    FrameVector("cancel", Cancel(target: 5), serial: 11),
  ]

  private static let notifications: [FrameVector] = [
    FrameVector(
      "post", Post(), flags: .acknowledge, serial: 12, name: "archive.didPrune", object: "folder/backups",
      payload: Array(#"{"removed": 3}"#.utf8)),
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

  private static let delegation: [FrameVector] = [
    FrameVector(
      "attach",
      Attach(
        order: -10, failurePolicy: .abstain, timeout: 2500, label: "restore of db",
        patterns: ["archive.shouldPrune", "window.*"]),
      serial: 3, object: "folder/backups"),
    FrameVector("attach-any", Attach(patterns: ["**"]), serial: 4),
    FrameVector(
      "ask", Ask(deadline: 60_000, mode: .all), serial: 5, name: "archive.shouldPrune",
      object: "folder/backups", payload: Array(#"{"count": 3}"#.utf8)),
    FrameVector(
      "ask-within", Ask(mode: .order, fallback: .vetoed, parent: 41), serial: 6, name: "window.shouldClose"),
    FrameVector(
      "question", Question(query: query, delegate: delegate, timeout: 2500, asker: shell), sender: 9,
      serial: 3, name: "archive.shouldPrune", object: "folder/backups",
      payload: Array(#"{"count": 3}"#.utf8)),
    FrameVector("answer-approve", Answer(query: query, delegate: delegate, answer: .approve), serial: 8),
    FrameVector(
      "answer-veto", Answer(query: query, delegate: delegate, answer: .veto), serial: 9,
      payload: Array("a restore is reading from here".utf8)),
    FrameVector(
      "defer", Defer(query: query, delegate: delegate, extension: 10_000), serial: 10,
      payload: Array("unmounting".utf8)),
    FrameVector(
      "progress", Progress(query: query, delegate: identity, timeout: 10_000), serial: 5,
      payload: Array("unmounting".utf8)),
    FrameVector(
      "verdict",
      Verdict(
        query: query, verdict: .vetoed, isUnanswered: false,
        outcomes: [
          Outcome(
            delegate: identity, outcome: .vetoed, reason: "a restore is reading from here", elapsed: 1500),
          Outcome(
            delegate: DelegateIdentity(id: DelegateID(rawValue: 23), label: "", peer: shell),
            outcome: .timedOut, reason: "", elapsed: 5_000_000),
        ]),
      serial: 5),
    FrameVector(
      "verdict-unanswered",
      Verdict(query: QueryID(rawValue: 42), verdict: .allowed, isUnanswered: true, outcomes: []), serial: 6),
    FrameVector("concluded", Concluded(query: query, delegate: delegate, conclusion: .vetoed), serial: 3),
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
          queries: 3, queued: 65_536, lost: 4, posted: 5, isPaused: true, isLossy: false)),
      serial: 23),
    FrameVector(
      "entry-connection-lossy",
      Entry.connection(
        ConnectionEntry(
          id: ConnectionID(rawValue: 8), peer: shell, age: 2_000_000, observations: 0, delegates: 0,
          queries: 0, queued: 0, lost: 0, posted: 0, isPaused: false, isLossy: true)),
      serial: 23),
    FrameVector(
      "entry-observation",
      Entry.observation(
        ObservationEntry(
          connection: ConnectionID(rawValue: 7), pattern: "archive.**", object: "folder/backups")),
      serial: 24),
    FrameVector(
      "entry-delegate",
      Entry.delegate(
        DelegateEntry(
          connection: ConnectionID(rawValue: 7), delegate: identity, object: "folder/backups", order: -10,
          failurePolicy: .abstain, timeout: 2500, patterns: ["archive.shouldPrune", "window.*"])),
      serial: 20),
  ]
}
