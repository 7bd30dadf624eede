// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tribune
import TribuneTestSupport
import TribuneWire

@Suite("tribunectl log", .timeLimit(.minutes(15)))
struct LogCommandTests {
  private static let id = "7410e8ab9fd04abe9eb6b38ea90ed596"
  private static let overriddenID = "e7932ba2c09d4f228b9e17f54e330131"
  /// 2026-01-02 03:04:05 UTC.
  private static let start: UInt64 = 1_767_323_045_000_000

  private static func log(_ arguments: String...) throws -> FinishedProgram { try Self.log(arguments) }

  private static func log(_ arguments: [String]) throws -> FinishedProgram {
    try TestBus.tribunectl(
      ["log"] + arguments, address: "unix:/nowhere", environment: ["TZ": "UTC", "NO_COLOR": "1"])
  }

  private static func fields(_ name: String, object: String = "o", _ more: String...) -> String {
    let asker = "TRIBUNE_ASKER_CONNECTION=:3\nTRIBUNE_ASKER_PID=7\nTRIBUNE_ASKER_UID=0"
    return
      (["MESSAGE_ID=\(id)", "MESSAGE=m", "TRIBUNE_NAME=\(name)", "TRIBUNE_OBJECT=\(object)", asker] + more)
      .joined(separator: "\n")
  }

  private static func journal() throws -> MadeJournal {
    let minute: UInt64 = 60_000_000
    let allowed = "TRIBUNE_VERDICT=allowed"
    let veto = "TRIBUNE_VETO=vetoed by restore (pid 42, restore.service): a restore \u{1B}[31mruns"
    return try MadeJournal([
      (start, fields("backup.shouldPrune", allowed, "TRIBUNE_ASKER_PROCESS=cron")),
      (start + 1, "MESSAGE=listening\nPRIORITY=6"),
      (
        start + minute,
        fields(
          "backup.shouldPrune", object: "repo/main", "TRIBUNE_VERDICT=vetoed", veto, "TRIBUNE_VETOES=1",
          "TRIBUNE_OUTCOMES=[{\"delegate\":5,\"outcome\":\"vetoed\"}]", "TRIBUNE_ELAPSED_USEC=350",
          "TRIBUNE_QUERY=9", "TRIBUNE_UNANSWERED=no", "TRIBUNE_MODE=parallel",
          "TRIBUNE_ASKER_UNIT=prune.service", "TRIBUNE_ASKER_SYSTEM_UNIT=prune.service")
      ),
      (
        start + 2 * minute,
        fields("host.shouldReboot", allowed, veto, "TRIBUNE_VETOES=70", "TRIBUNE_OVERRIDE=the disk is full")
          .replacing(id, with: overriddenID)
      ),
      (start + 3 * minute, fields("host.shouldReboot", allowed, "TRIBUNE_UNANSWERED=yes")),
      (start + 4 * minute, "MESSAGE_ID=\(id)\nMESSAGE=a verdict without a name"),
    ])
  }

  @Test("shows each verdict with its vetoes, the newest last")
  func text() throws {
    let journal = try Self.journal()
    let shown = try Self.log("--directory=\(journal.directory)")
    shown.expect(0, errors: "")
    #expect(
      shown.output == """
        2026-01-02 03:04:05  allowed: backup.shouldPrune o  asked by cron, pid 7
        2026-01-02 03:05:05  vetoed: backup.shouldPrune repo/main  asked by pid 7, prune.service
          vetoed by restore (pid 42, restore.service): a restore \\u{1b}[31mruns
        2026-01-02 03:06:05  allowed: host.shouldReboot o  asked by pid 7
          overridden: the disk is full
          vetoed by restore (pid 42, restore.service): a restore \\u{1b}[31mruns
          and 6 more
        2026-01-02 03:07:05  allowed: host.shouldReboot o (no delegate approved or vetoed)  asked by pid 7

        """)
  }

  @Test(
    "shows the verdicts that the options select",
    arguments: [
      (["backup.shouldPrune"], [0, 1]), (["backup.*"], [0, 1]), (["**"], [0, 1, 2, 3]), (["backup"], []),
      (["--object=repo/main"], [1]), (["host.**", "--object=o"], [2, 3]), (["--object=repo"], []),
      (["-n", "1"], [3]), (["-n", "3"], [1, 2, 3]), (["-n", "9"], [0, 1, 2, 3]),
      (["backup.*", "-n", "1"], [1]), (["--since=2026-01-02 03:05:05"], [1, 2, 3]),
      (["--since=2026-01-02 03:05:06", "-n", "9"], [2, 3]), (["--since=2026-01-03"], []),
      (["--since=1min ago"], []),
    ])
  func selection(arguments: [String], expected: [Int]) throws {
    let journal = try Self.journal()
    let shown = try Self.log(["--json=short", "--directory=\(journal.directory)"] + arguments)
    #expect(shown.status == 0)
    let times = shown.lines.map { line in line.dropFirst("{\"time\":".count).prefix { $0 != "," } }
    #expect(times == expected.map { "\(Self.start + UInt64($0) * 60_000_000)" })
  }

  @Test("prints verdicts as JSON, with their outcomes")
  func json() throws {
    let journal = try Self.journal()
    let shown = try Self.log("-j", "--directory=\(journal.directory)")
    #expect(
      shown.lines.dropFirst().first == """
        {"time":1767323105000000,"name":"backup.shouldPrune","object":"repo/main",\
        "verdict":"vetoed","query":9,"outcomes":[{"delegate":5,"outcome":"vetoed"}],"outcomesOmitted":0,\
        "unanswered":false,"overridden":false,"override":null,"mode":"parallel","elapsed":0.000350,\
        "asker":{"connection":":3","pid":7,"uid":0,"process":"","unit":"prune.service","systemUnit":"prune.service","userUnit":""},\
        "bus":{"pid":17,"uid":18,"unit":"tribuned.service"}}
        """)
    let overridden = try #require(shown.lines.dropFirst(2).first)
    #expect(overridden.contains(#""overridden":true,"override":"the disk is full""#))
  }

  @Test(
    "names the writer of an entry that is from neither the system's bus, nor a bus of root or the reader")
  func otherWriters() throws {
    let entry = (Self.start, Self.fields("host.shouldReboot", "TRIBUNE_VERDICT=allowed"))
    func shown(_ unit: String, uid: Int) throws -> Bool {
      let journal = try MadeJournal([entry], unit: unit, uid: uid)
      let log = try withExtendedLifetime(journal) { try Self.log("--directory=\(journal.directory)") }
      return log.output.contains("  written by user \(uid)")
    }
    #expect(try shown("user@65534.service", uid: 65_534))
    #expect(try !shown("tribuned.service", uid: 65_534))
    #expect(try !shown("other.service", uid: 0))
  }

  @Test("reports an empty selection, and a missing journal")
  func nothing() throws {
    let journal = try Self.journal()
    try Self.log("no.such", "--directory=\(journal.directory)").expect(0, output: "No verdicts.\n")
    let folder = try TestFolder()
    let empty = try Self.log("--directory=\(folder.path)")
    empty.expect(1, errors: "tribunectl: there is no journal in \(folder.path)\n")
    let missing = try Self.log("--directory=\(folder.path)/x")
    #expect(missing.status == 1)
    #expect(
      missing.errors
        == "tribunectl: the journal of \(folder.path)/x cannot be opened: No such file or directory\n")
  }

  @Test("reports a missing permission to read the journal")
  func forbidden() throws {
    let journal = try Self.journal()
    let asNobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    let command = [try Programs.path(of: "tribunectl"), "log", "--directory=\(journal.directory)"]
    // Root can read any file, so run the command as another user.
    let isRoot = geteuid() == 0
    try FileManager.default.setAttributes(
      [.posixPermissions: isRoot ? 0o600 : 0], ofItemAtPath: "\(journal.directory)/made.journal")
    let refused = try FinishedProgram((isRoot ? asNobody : []) + command)
    #expect(refused.status == 1)
    #expect(
      refused.errors
        == "tribunectl: no permission to read the journal \(journal.directory)/made.journal; members "
        + "of the group systemd-journal have it\n")
  }

  @Test("counts the bus's missing entries")
  func missing() throws {
    let suppressed = { (unit: String, count: Int) in
      "MESSAGE_ID=a596d6fe7bfa4990828e72309e95d61e\nN_DROPPED=\(count)\nOBJECT_SYSTEMD_UNIT=\(unit)\n_TRANSPORT=driver"
    }
    let dropped = "MESSAGE_ID=baa7334ff1734bbc8d8f82147d4ab446\nTRIBUNE_DROPPED=7"
    let journal = try MadeJournal([
      (Self.start, suppressed("tribuned.service", 413)), (Self.start, suppressed("nginx.service", 5000)),
      (Self.start + 1, dropped),
      (Self.start + 60_000_000, suppressed("tribuned.service", 10_000)),
    ])
    let shown = try Self.log("--directory=\(journal.directory)", "--until=2026-01-02 03:04:30")
    #expect(shown.errors.hasPrefix("tribunectl: 420 entries of the bus are missing from the journal, "))
    #expect(shown.output == "No verdicts.\n")
    #expect(try Self.log("--directory=\(journal.directory)", "-q").errors.isEmpty)
  }

  @Test("refuses an invalid time", arguments: ["tomorrow", "25:00", "2026-13-01", "", "5 parsecs"])
  func badTimes(time: String) throws {
    let refused = try Self.log("--since=\(time)")
    #expect(refused.status == 2)
    #expect(refused.errors.hasPrefix("tribunectl: --since=: \"\(time)\" is not a time such as 2h, "))
  }
}

@Suite("Verdicts in the journal", .timeLimit(.minutes(15)))
struct JournalTests {
  private let folder: TestFolder
  private let journald: NotifySocket

  init() throws {
    folder = try TestFolder()
    try folder.write("", to: "run/placeholder")
    journald = try NotifySocket(path: "\(folder.path)/run/socket")
  }

  /// - Parameters:
  ///   - run: the test's folder that is mounted where journald's socket is.
  ///   - output: how standard error leads to the journal.
  private func bus(
    _ run: String = "run", output: String = "JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2)"
  ) throws -> TestBus {
    try folder.write("allow * ** user:*\n", to: "etc/policy.d/all.policy")
    let unshare = ["unshare", "--mount"] + (geteuid() == 0 ? [] : ["--map-root-user"])
    let script = """
      mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal \
      && mount --bind "$0" /run/systemd/journal \
      && \(output) exec "$@"
      """
    let probe = try FinishedProgram(unshare + ["sh", "-c", script, "\(folder.path)/\(run)", "true"])
    guard probe.status == 0 else {
      throw Programs.Missing(description: "no mount namespace can be made here: \(probe.errors)")
    }
    return try TestBus(
      wrapper: ["/usr/bin/env"] + unshare + ["sh", "-c", script, "\(folder.path)/\(run)"], folder: folder)
  }

  @Test("wait for journald if it is stopped when the bus starts", arguments: [false, true])
  func startedWithoutJournald(leavesSocket: Bool) throws {
    try folder.write("", to: "later/placeholder")
    let path = "\(folder.path)/later/socket"
    if leavesSocket { _ = try NotifySocket(path: path) }
    let bus = try bus("later", output: "unset JOURNAL_STREAM; exec 2>/dev/null; SYSTEMD_EXEC_PID=$$")
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 0)
    if leavesSocket { try FileManager.default.removeItem(atPath: path) }
    let journald = try NotifySocket(path: path)
    try journald.wait { $0.contains("MESSAGE=journald did not run") }
    #expect(try journald.wait { $0.contains("\nMESSAGE_ID=") }.contains("\nTRIBUNE_NAME=a.shouldB\n"))
  }

  private func nextVerdict() throws -> String { try journald.wait { $0.contains("\nMESSAGE_ID=") } }

  @Test("name the delegate that vetoed and its reason, and tribunectl finds them")
  func endToEnd() throws {
    let bus = try bus()
    let delegate = try bus.staying("delegate", "backup.*", "--veto=a restore is running", "--label=restore")
    #expect(try bus.tribunectl("ask", "backup.shouldPrune", "--object=repo/main").status == 1)
    #expect(try bus.tribunectl("ask", "other.shouldGo").status == 0)
    let verdicts = [try nextVerdict(), try nextVerdict()]

    #expect(
      verdicts[0].contains(
        "MESSAGE=backup.shouldPrune repo/main: vetoed by restore (pid \(delegate.pid)): a restore is running\n"
      ))
    #expect(verdicts[0].contains("\nPRIORITY=5\n"))
    #expect(verdicts[1].contains("\nPRIORITY=6\n"))

    let journal = try MadeJournal([(1, verdicts[0]), (2, verdicts[1])])
    let log = try bus.tribunectl("-j", "log", "backup.**", "--directory=\(journal.directory)")
    let entry = try log.object()
    #expect(entry["verdict"] as? String == "vetoed")
    #expect(entry["object"] as? String == "repo/main")
    let outcome = try #require((entry["outcomes"] as? [[String: Any]])?.first)
    #expect(outcome["reason"] as? String == "a restore is running")
    #expect(outcome["pid"] as? Int == Int(delegate.pid))
    #expect((entry["asker"] as? [String: Any])?["process"] as? String == "tribunectl")
    let text = try bus.tribunectl("log", "--directory=\(journal.directory)")
    #expect(text.lines.count == 3)
    #expect(text.output.contains("other.shouldGo (no delegate approved or vetoed)"))
  }

  @Test("do not block: if journald hangs, the bus still answers and ends")
  func stuck() async throws {
    let bus = try bus()
    let connection = try await bus.connect()
    for _ in 0..<2_000 { #expect(try await connection.ask("a.shouldB").isAllowed) }
    await connection.close()
    #expect(bus.stop() == 0)
  }

  @Test("of one user do not displace those of others, and omitted ones are counted")
  func flood() throws {
    let bus = try bus()
    let flood = try RawClient.greeted(bus, as: 65_534)
    for _ in 0..<40 {
      try flood.send { asks in
        for serial in 1...500 as ClosedRange<Serial> {
          asks.appendFrame(Ask(), serial: serial, name: "a.shouldB")
        }
      }
      for _ in 1...500 { _ = try flood.nextVerdict() }
    }
    for number in 0..<20 { try bus.tribunectl("ask", "root.should\(number)").expect(0) }
    var verdicts = (own: 0, others: 0)
    var omitted = ""
    while verdicts.own < 20 || omitted.isEmpty {
      let entry = try journald.next()
      if entry.contains("about verdicts omitted") { omitted = entry }
      guard entry.contains("\nMESSAGE_ID=") else { continue }
      if entry.contains("root.should") { verdicts.own += 1 } else { verdicts.others += 1 }
    }
    #expect(verdicts.others >= 200 && verdicts.others < 20_000)
    #expect(omitted.contains("user 65534: "), "\(omitted)")
  }
}
