// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

private func outcome(
  _ kind: OutcomeKind, _ reason: String = "", label: String = "restore", pid: UInt32 = 42,
  process: String = "rsync", unit: String = "restore.service", userUnit: String = "", id: UInt64 = 5
) -> Outcome {
  let peer = PeerIdentity(
    pid: pid, uid: 1, gid: 1, process: process, units: PeerUnits(system: unit, user: userUnit))
  return Outcome(
    delegate: DelegateIdentity(id: DelegateID(rawValue: id), label: label, peer: peer), outcome: kind,
    reason: reason, elapsed: 1_000_350)
}

private func entry(
  _ verdict: VerdictKind = .allowed, _ outcomes: [Outcome] = [], vetoes: [Int] = [], override: String? = nil,
  isUnanswered: Bool = false, object: String = "repo/main", mode: QueryMode = .parallel,
  omitted: (outcomes: Int, vetoes: Int) = (0, 0), asker: PeerUnits = PeerUnits(system: "prune.service"),
  user: UInt32 = 0
) -> VerdictEntry {
  VerdictEntry(
    name: "backup.shouldPrune", object: object,
    asker: PeerIdentity(pid: 7, uid: user, gid: 0, process: "tribunectl", units: asker),
    askerConnection: ConnectionID(rawValue: 3),
    verdict: Verdict(
      query: QueryID(rawValue: 9), verdict: verdict, isUnanswered: isUnanswered, outcomes: outcomes,
      isOverridden: override != nil, omittedCount: UInt32(omitted.outcomes)),
    vetoes: OutcomePlaces(vetoes), omittedVetoCount: omitted.vetoes, overrideReason: override ?? "",
    mode: mode, elapsedMicroseconds: 1_234)
}

@Suite("A verdict in the journal")
struct VerdictEntryTests {
  @Test("has a message of one line")
  func message() {
    let veto = outcome(.vetoed, "a restore is running")
    let cases: [(VerdictEntry, String, Log.Level)] = [
      (entry(.allowed, [outcome(.approved)]), "allowed", .info),
      (entry(isUnanswered: true), "allowed by default: no delegate approved or vetoed", .info),
      (entry(.vetoed, isUnanswered: true), "vetoed by default: no delegate approved or vetoed", .notice),
      (
        entry(.vetoed, [outcome(.approved), veto], vetoes: [1]),
        "vetoed by restore (pid 42, restore.service): a restore is running", .notice
      ),
      (
        entry(.vetoed, [veto, veto, veto], vetoes: [0, 2]),
        "vetoed by restore (pid 42, restore.service): a restore is running (and 1 more)", .notice
      ),
      (
        entry(.vetoed, [outcome(.held, "till morning", label: "", unit: "")], vetoes: [0]),
        "vetoed, held by rsync (pid 42): till morning", .notice
      ),
      (
        entry(.vetoed, [outcome(.timedOut, label: "", process: "", unit: "")], vetoes: [0]),
        "vetoed, as delegate 5 (pid 42) timed out", .notice
      ),
      (
        entry(.vetoed, [outcome(.failed, "exit 3")], vetoes: [0]),
        "vetoed, as restore (pid 42, restore.service) failed: exit 3", .notice
      ),
      (
        entry(
          .vetoed, [outcome(.gone, "required, and not attached", pid: 0, process: "", unit: "", id: 0)],
          vetoes: [0]),
        "vetoed, as restore is gone: required, and not attached", .notice
      ),
      (
        entry(.allowed, [veto], vetoes: [0], override: "the disk is full"),
        "vetoed by restore (pid 42, restore.service): a restore is running; overridden by tribunectl "
          + "(pid 7, prune.service): the disk is full", .warning
      ),
    ]
    for (entry, expected, level) in cases {
      #expect(entry.message == "backup.shouldPrune repo/main: \(expected)")
      #expect(entry.level == level)
    }
    #expect(entry(object: "").message == "backup.shouldPrune: allowed")
  }

  @Test("has a field for each fact")
  func fields() {
    let outcomes = [
      outcome(.abstained, label: "", unit: ""), outcome(.vetoed, "a \"restore\"\n\u{202E}runs\u{200E}"),
      outcome(.timedOut, label: "b"),
    ]
    #expect(
      entry(.vetoed, outcomes, vetoes: [1, 2], mode: .all).journalEntry.fields == [
        "MESSAGE=backup.shouldPrune repo/main: vetoed by restore (pid 42, restore.service): "
          + "a \"restore\"\\n\\u{202e}runs\\u{200e} (and 1 more)",
        "PRIORITY=5", "SYSLOG_IDENTIFIER=tribuned", "MESSAGE_ID=7410e8ab9fd04abe9eb6b38ea90ed596",
        "TRIBUNE_NAME=backup.shouldPrune", "TRIBUNE_OBJECT=repo/main", "TRIBUNE_QUERY=9",
        "TRIBUNE_ASKER_CONNECTION=:3", "TRIBUNE_ASKER_PID=7", "TRIBUNE_ASKER_UID=0",
        "TRIBUNE_ASKER_PROCESS=tribunectl", "TRIBUNE_ASKER_UNIT=prune.service",
        "TRIBUNE_ASKER_SYSTEM_UNIT=prune.service", "TRIBUNE_VERDICT=vetoed",
        "TRIBUNE_UNANSWERED=no", "TRIBUNE_MODE=all", "TRIBUNE_ELAPSED_USEC=1234", "TRIBUNE_DELEGATES=3",
        "TRIBUNE_VETOES=2", "TRIBUNE_OUTCOME=rsync (pid 42) abstained",
        "TRIBUNE_OUTCOME=vetoed by restore (pid 42, restore.service): a \"restore\"\\n\\u{202e}runs\\u{200e}",
        "TRIBUNE_VETO=vetoed by restore (pid 42, restore.service): a \"restore\"\\n\\u{202e}runs\\u{200e}",
        "TRIBUNE_VETOED_BY=restore", "TRIBUNE_VETOED_BY_UNIT=restore.service",
        "TRIBUNE_VETOED_BY_SYSTEM_UNIT=restore.service",
        "TRIBUNE_REASON=a \"restore\"\\n\\u{202e}runs\\u{200e}",
        "TRIBUNE_OUTCOME=b (pid 42, restore.service) timed out",
        "TRIBUNE_VETO=b (pid 42, restore.service) timed out", "TRIBUNE_VETOED_BY=b",
        "TRIBUNE_VETOED_BY_UNIT=restore.service", "TRIBUNE_VETOED_BY_SYSTEM_UNIT=restore.service",
        """
        TRIBUNE_OUTCOMES=[{"delegate":5,"label":"","outcome":"abstained","reason":"","pid":42,"uid":1,\
        "process":"rsync","unit":"","systemUnit":"","userUnit":"","elapsed":1.000350},{"delegate":5,"label":"restore","outcome":"vetoed",\
        "reason":"a \\"restore\\"\\n\\u202eruns\\u200e","pid":42,"uid":1,"process":"rsync",\
        "unit":"restore.service","systemUnit":"restore.service","userUnit":"","elapsed":1.000350},{"delegate":5,"label":"b","outcome":"timedOut",\
        "reason":"","pid":42,"uid":1,"process":"rsync","unit":"restore.service","systemUnit":"restore.service","userUnit":"","elapsed":1.000350}]
        """,
      ])
  }

  @Test("has a user's unit beside the system's, or in its place")
  func userUnits() {
    let user = PeerUnits(system: "user@1.service", user: "prune.service")
    func fields(_ asker: PeerUnits, _ outcome: Outcome) -> [String] {
      entry(.vetoed, [outcome], vetoes: [0], asker: asker).journalEntry.fields.filter {
        $0.hasPrefix("TRIBUNE_ASKER_U") || $0.hasPrefix("TRIBUNE_ASKER_S")
          || $0.hasPrefix("TRIBUNE_VETOED_BY_") || $0.contains("Unit")
      }
    }
    let json =
      #"TRIBUNE_OUTCOMES=[{"delegate":5,"label":"restore","outcome":"vetoed","reason":"","pid":42,"#
      + #""uid":1,"process":"rsync","unit":"#
    #expect(
      fields(user, outcome(.vetoed, unit: "user@1.service", userUnit: "restore.service")) == [
        "TRIBUNE_ASKER_UID=0", "TRIBUNE_ASKER_UNIT=user@1.service",
        "TRIBUNE_ASKER_SYSTEM_UNIT=user@1.service", "TRIBUNE_ASKER_USER_UNIT=prune.service",
        "TRIBUNE_VETOED_BY_UNIT=user@1.service", "TRIBUNE_VETOED_BY_SYSTEM_UNIT=user@1.service",
        "TRIBUNE_VETOED_BY_USER_UNIT=restore.service",
        json + #""user@1.service","systemUnit":"user@1.service","userUnit":"restore.service","#
          + #""elapsed":1.000350}]"#,
      ])
    #expect(
      fields(PeerUnits(user: "prune.service"), outcome(.vetoed, unit: "", userUnit: "restore.service")) == [
        "TRIBUNE_ASKER_UID=0", "TRIBUNE_ASKER_UNIT=prune.service", "TRIBUNE_ASKER_USER_UNIT=prune.service",
        "TRIBUNE_VETOED_BY_UNIT=restore.service", "TRIBUNE_VETOED_BY_USER_UNIT=restore.service",
        json + #""restore.service","systemUnit":"","userUnit":"restore.service","elapsed":1.000350}]"#,
      ])
  }

  @Test("has the reason of an override, and then another message id")
  func overridden() {
    let fields = entry(.allowed, [outcome(.vetoed)], vetoes: [0], override: "now").journalEntry.fields
    #expect(fields.contains("MESSAGE_ID=e7932ba2c09d4f228b9e17f54e330131"))
    #expect(fields.contains("TRIBUNE_OVERRIDE=now"))
    #expect(fields.contains("TRIBUNE_VERDICT=allowed"))
    #expect(fields.contains("TRIBUNE_VETO=vetoed by restore (pid 42, restore.service)"))
  }

  @Test("names a missing required delegate")
  func missing() {
    let missing = outcome(.gone, "required, and not attached", pid: 0, process: "", unit: "", id: 0)
    #expect(
      entry(.vetoed, [missing], vetoes: [0]).journalEntry.fields.filter { $0.hasPrefix("TRIBUNE_VETO") } == [
        "TRIBUNE_VETOES=1", "TRIBUNE_VETO=restore is gone: required, and not attached",
        "TRIBUNE_VETOED_BY=restore",
      ])
  }

  @Test("lists 64 outcomes, vetoes first, counts the rest, and truncates reasons")
  func bounds() throws {
    let long = String(repeating: "é", count: 2_048)
    var outcomes = (0..<200).map { outcome(.approved, label: "\($0)") }
    for index in [3, 150, 199] { outcomes[index].outcome = .vetoed }
    outcomes[199].reason = long
    let fields = entry(.vetoed, outcomes, vetoes: [3, 150, 199], mode: .all).journalEntry.fields
    func values(_ name: String) -> [String] {
      fields.filter { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.utf8.count + 1)) }
    }
    #expect(values("TRIBUNE_OUTCOME").count == 64)
    #expect(values("TRIBUNE_VETOED_BY") == ["3", "150", "199"])
    #expect(values("TRIBUNE_VETOES") == ["3"])
    #expect(values("TRIBUNE_DELEGATES") == ["200"])
    #expect(values("TRIBUNE_OUTCOMES_OMITTED") == ["136"])
    #expect(values("TRIBUNE_REASON") == [String(repeating: "é", count: 512) + "…"])
    let json = try JSONSerialization.jsonObject(with: Data(values("TRIBUNE_OUTCOMES")[0].utf8))
    #expect((json as? [Any])?.count == 64)

    let vetoes = (0..<200).map { outcome(.vetoed, label: "\($0)") }
    let all = entry(.vetoed, vetoes, vetoes: Array(0..<200)).journalEntry.fields
    #expect(all.count { $0.hasPrefix("TRIBUNE_VETO=") } == 64)
    #expect(all.contains("TRIBUNE_VETOES=200"))

    let bounded = entry(.vetoed, vetoes, vetoes: Array(0..<200), omitted: (1000, 800)).journalEntry
    for field in ["DELEGATES=1200", "VETOES=1000", "OUTCOMES_OMITTED=1136"] {
      #expect(bounded.fields.contains("TRIBUNE_\(field)"))
    }
    #expect(bounded.fields.contains { $0.hasSuffix("(and 999 more)") })
  }

  @Test("without a journal, is kept, and goes to standard error at the level debug only")
  func standardError() async throws {
    let result = try #require(
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        await MainActor.run {
          let log = Log(level: .info, journal: nil)
          for verdict in [VerdictKind.allowed, .vetoed] {
            let verdictEntry = entry(verdict, isUnanswered: true, object: "b\u{1B}")
            #expect(!log.wants(verdict, isOverridden: false) && log.wants(verdict, isOverridden: true))
            #expect(log.keeps(verdict, isOverridden: false))
            log.keep(verdictEntry)
            log.write(verdictEntry)
            log.level = .debug
            log.write(verdictEntry)
            log.level = .info
          }
          #expect(log.recentVerdicts.count == 2)
          log.level = .error
          #expect(!log.keeps(.vetoed, isOverridden: true))
        }
      })
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    let end = " by default: no delegate approved or vetoed"
    #expect(
      text.split(separator: "\n") == [
        "tribuned: backup.shouldPrune b\\u{1b}: allowed\(end)",
        "tribuned: backup.shouldPrune b\\u{1b}: vetoed\(end)",
      ])
  }
}

@Suite("The message catalog", .timeLimit(.minutes(15)))
struct CatalogTests {
  @Test("is valid for journalctl, and explains each kind of entry")
  func catalog() throws {
    let folder = try TemporaryFolder()
    let text = try repositoryText("systemd/tribune.catalog")
    try folder.write("root/usr/lib/systemd/catalog/tribune.catalog", text)
    let root = "--root=\(folder.path)/root"
    let update = try SystemdRun("journalctl", ["--update-catalog", root], in: folder)
    #expect(update.status == 0 && update.output == "", "\(update.output)")
    for id in [VerdictEntry.messageID, VerdictEntry.overriddenMessageID, VerdictEntry.omittedMessageID] {
      let dump = try SystemdRun("journalctl", [root, "--dump-catalog", id], in: folder)
      #expect(dump.status == 0, "\(dump.output)")
      #expect(dump.output.contains("\nSubject: ") && dump.output.contains("\nDefined-By: Tribune\n"))
    }
    let list = try SystemdRun("journalctl", [root, "--list-catalog"], in: folder)
    #expect(list.output.split(separator: "\n").count == 3)
  }

  @Test("names only fields that the entries have")
  func fields() throws {
    let text = try repositoryText("systemd/tribune.catalog")
    let veto = entry(.allowed, [outcome(.vetoed)], vetoes: [0], override: "now").journalEntry.fields
    let names = text.matches(of: /@([A-Z_]+)@/).map { String($0.1) }
    #expect(!names.isEmpty)
    for name in names where name != "TRIBUNE_DROPPED" {
      #expect(veto.contains { $0.hasPrefix("\(name)=") }, "\(name)")
    }
  }

  @Test("describes entries with documented fields only")
  func documentation() throws {
    let text = try repositoryText("docs/CONCEPTS.md")
    let outcomes = (0..<70).map { _ in outcome(.vetoed, "why", userUnit: "a.service") }
    let all = entry(
      .allowed, outcomes, vetoes: Array(0..<70), override: "now",
      asker: PeerUnits(system: "user@1.service", user: "b.service")
    ).journalEntry.fields
    for field in all where !field.hasPrefix("SYSLOG_") {
      let name = field.prefix { $0 != "=" }
      #expect(text.contains("`\(name)`"), "\(name)")
    }
  }

  @Test("weighs more lines the longer it is")
  func weight() {
    let short = outcome(.vetoed, "busy")
    let long = outcome(.vetoed, String(repeating: "x", count: 4_000))
    func weight(_ outcomes: [Outcome]) -> Int {
      VerdictEntry.weight(
        of: Verdict(query: QueryID(rawValue: 9), verdict: .vetoed, isUnanswered: false, outcomes: outcomes))
    }
    #expect(weight([]) == 1 && weight([short]) == 1)
    for count in [1, 10, 64, 100] {
      let outcomes = Array(repeating: long, count: count)
      let length = entry(.vetoed, outcomes, vetoes: Array(outcomes.indices)).journalEntry.fields.reduce(0) {
        $0 + $1.utf8.count
      }
      #expect((length / 4096...length / 2048).contains(weight(outcomes)))
    }
  }
}

@Suite("Verdicts of a bus without a journal")
struct RecentVerdictsTests {
  @Test("are the last 1,000 of root, and the last 1,000 of all others, of which the busiest user's go first")
  func bounded() {
    var recent = RecentVerdicts()
    recent.append(entry(object: "root's"))
    recent.append(entry(object: "rare", user: 1_000))
    for number in 0..<1_500 { recent.append(entry(object: "\(number)", user: 65_534)) }
    let others = recent.all.filter { $0.verdict.asker.uid != 0 }
    #expect(others.map(\.verdict.object) == ["rare"] + (501..<1_500).map { "\($0)" })
    #expect(recent.all.count == 1_001)
    for _ in 0..<1_001 { recent.append(entry(object: "")) }
    #expect(recent.all.count { $0.verdict.asker.uid == 0 } == 1_000)
    #expect(!recent.all.contains { $0.verdict.object == "root's" })
    #expect(recent.all.map(\.number).last == 2_503)
  }

  @Test("use at most 4 MiB, with all their reasons")
  func memory() {
    var recent = RecentVerdicts()
    let long = outcome(.vetoed, String(repeating: "x", count: 32_768))
    for _ in 0..<500 { recent.append(entry(.vetoed, [long], vetoes: [0], user: 65_534)) }
    #expect((100...128).contains(recent.all.count))
  }

  @Test("are listed with as many outcomes as fit into a text on the wire, as valid JSON")
  func long() throws {
    var recent = RecentVerdicts()
    let long = (0..<64).map { outcome(.vetoed, String(repeating: "\u{1}", count: 1_024), id: UInt64($0)) }
    recent.append(entry(.vetoed, long, vetoes: Array(0..<64)))
    let fields = try #require(recent.all.first).entry(at: .max).fields
    #expect(fields.allSatisfy { $0.utf8.count <= UInt16.max })
    let outcomes = try #require(fields.first { $0.hasPrefix("TRIBUNE_OUTCOMES=") })
    let listed = try JSONSerialization.jsonObject(with: Data(outcomes.dropFirst(17).utf8)) as? [Any]
    let count = try #require(listed).count
    #expect(count > 0 && fields.contains("TRIBUNE_OUTCOMES_OMITTED=\(64 - count)"))
  }
}
