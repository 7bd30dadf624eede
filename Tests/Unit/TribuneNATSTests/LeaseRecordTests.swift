// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TribuneNATS

@Suite("Owners of a lease", .timeLimit(.minutes(15)))
struct LeaseRecordTests {
  private static func owner(
    _ host: String, _ number: Int = 1, machine: String = "", pid: Int = 42, since: Int = 100
  ) -> LeaseOwner {
    LeaseOwner(
      host: host, id: id(number), machine: machine, boot: "b", pid: pid, start: 7, label: "backup",
      since: since)
  }

  private static func id(_ number: Int) -> String {
    String(repeating: "0", count: 31) + String(number, radix: 16)
  }

  private static func record(_ slots: Int, _ owners: LeaseOwner...) -> LeaseRecord {
    var record = LeaseRecord()
    (record.slots, record.owners) = (slots, owners)
    return record
  }

  private static let cases:
    [(
      before: LeaseRecord, change: LeaseRecord.Change, runs: Bool, effect: LeaseRecord.Effect,
      after: LeaseRecord
    )] = [
      (
        LeaseRecord(), .acquire(owner("db1"), slots: 1), false, .changed(owner("db1"), before: nil),
        record(1, owner("db1"))
      ),
      (
        record(1), .acquire(owner("db1"), slots: 2), false, .changed(owner("db1"), before: nil),
        record(2, owner("db1"))
      ),
      (record(1, owner("db1")), .acquire(owner("db2"), slots: 1), false, .busy, record(1, owner("db1"))),
      (
        record(2, owner("db1")), .acquire(owner("db2"), slots: 2), false, .changed(owner("db2"), before: nil),
        record(2, owner("db1"), owner("db2"))
      ),
      (
        record(1, owner("db1")), .acquire(owner("db2"), slots: 2), false,
        .refused("it has 1 slot as long as db1 has it"), record(1, owner("db1"))
      ),
      (
        record(2, owner("db1"), owner("db2")), .acquire(owner("db2"), slots: 1), false,
        .refused("it has 2 slots as long as db1 has it"), record(2, owner("db1"), owner("db2"))
      ),
      // A host gets its lease again, with the old time, unless its own command runs.
      (
        record(1, owner("db1")), .acquire(owner("db1", 2, pid: 43, since: 200), slots: 1), false,
        .changed(owner("db1", 2, pid: 43), before: owner("db1")), record(1, owner("db1", 2, pid: 43))
      ),
      (record(1, owner("db1")), .acquire(owner("db1", 2), slots: 1), true, .busy, record(1, owner("db1"))),
      (
        record(1, owner("db1")), .acquire(owner("db1"), slots: 1), true,
        .changed(owner("db1"), before: owner("db1")), record(1, owner("db1"))
      ),
      (
        record(1, owner("db1")), .release(host: "db1", machine: "", id: id(1)), true,
        .changed(owner("db1"), before: owner("db1")), record(1)
      ),
      (
        record(1, owner("db1")), .release(host: "db1", machine: "", id: id(2)), false, .absent,
        record(1, owner("db1"))
      ),
      (
        record(1, owner("db1")), .release(host: "db2", machine: "", id: nil), false, .absent,
        record(1, owner("db1"))
      ),
      (
        record(1, owner("db1")), .release(host: "db1", machine: "", id: nil), false,
        .changed(owner("db1"), before: owner("db1")), record(1)
      ),
      (
        record(1, owner("db1")), .acquire(owner("db1", machine: "other"), slots: 1), false,
        .refused(
          "another machine has it that is called db1, too, or this one had another machine-id(5)"),
        record(1, owner("db1"))
      ),
      (
        record(1, owner("db1")), .release(host: "db1", machine: "other", id: nil), false,
        .refused(
          "another machine has it that is called db1, too, or this one had another machine-id(5)"),
        record(1, owner("db1"))
      ),
      (
        record(1, owner("db1")), .release(host: "db1", machine: "", id: nil), true,
        .refused("process 42 (backup) on this host still runs under it"), record(1, owner("db1"))
      ),
      (
        record(2, owner("db1"), owner("db2")), .remove(host: "db1", id: nil), true,
        .changed(owner("db1"), before: owner("db1")), record(2, owner("db2"))
      ),
      (record(1, owner("db1")), .remove(host: "db2", id: nil), true, .absent, record(1, owner("db1"))),
      (record(1, owner("db1")), .remove(host: "db1", id: id(2)), true, .absent, record(1, owner("db1"))),
    ]

  @Test("Each change has exactly its effect", arguments: cases.indices)
  func changes(index: Int) {
    let (before, change, runs, effect, after) = Self.cases[index]
    var record = before
    #expect(record.apply(change) { _ in runs } == effect)
    #expect(record == after)
  }

  @Test("A record is read as it was written")
  func roundTrip() throws {
    var one = Self.owner("db1")
    (one.label, one.unit, one.uid) = ("\"ä\u{1B}", "backup.service", 4_294_967_295)
    for record in [LeaseRecord(), Self.record(3, one, Self.owner("db2", 2))] {
      #expect(try LeaseRecord(record.bytes) == record)
    }
  }

  private static func text(_ change: (String) -> String) -> [UInt8] {
    Array(change(String(decoding: record(2, owner("db1")).bytes, as: UTF8.self)).utf8)
  }

  private static func replacing(_ old: String, _ new: String) -> [UInt8] {
    text { text in
      let parts = text.split(separator: old, maxSplits: 1, omittingEmptySubsequences: false)
      precondition(parts.count == 2)
      return parts[0] + new + parts[1]
    }
  }

  private static let garbage: [(bytes: [UInt8], message: String)] = [
    ([], "it is not JSON"), ([0xFF], "it is not JSON"), (Array("[]".utf8), "it has no version"),
    (Array(repeating: UInt8(ascii: " "), count: LeaseRecord.lengthMax + 1), "it has more than"),
    (replacing("\"version\":1", "\"version\":2"), "it has the version 2"),
    (replacing("\"slots\":2", "\"slots\":0"), "\"slots\" is not a number from 1 to 64"),
    (replacing("\"slots\":2", "\"slots\":65"), "\"slots\" is not a number from 1 to 64"),
    (replacing("\"slots\":2", "\"slots\":\"2\""), "\"slots\" is not a number"),
    (replacing("\"owners\":[", "\"owners\":[1,2,"), "one owner for each slot at most"),
    (replacing("\"owners\":[", "\"owner\":["), "one owner for each slot at most"),
    (replacing("\"owners\":[", "\"owners\":[7,"), "\"host\" is not a text"),
    (replacing("\"host\":\"db1\"", "\"host\":\"a.b\""), "is no host"),
    (replacing("\"host\":\"db1\"", "\"host\":\"\""), "is no host"),
    (replacing("\"id\":\"0", "\"id\":\"x"), "the id of db1 is none"),
    (replacing("\"pid\":42", "\"pid\":-1"), "\"pid\" is not a number"),
    (replacing("\"pid\":42", "\"pid\":4e30"), "\"pid\" is not a number"),
    (replacing("\"start\":7", "\"start\":null"), "\"start\" is not a number"),
    (replacing("\"since\":100", "\"since\":1e300"), "\"since\" is not a number"),
    (
      replacing("\"label\":\"", "\"label\":\"" + String(repeating: "x", count: 256)),
      "\"label\" is not a text"
    ),
  ]

  @Test("An unreadable record is an error, not a free lease", arguments: garbage)
  func hostile(bytes: [UInt8], message: String) {
    #expect {
      try LeaseRecord(bytes)
    } throws: { error in
      (error as? LeaseRecordError)?.message.contains(message) == true
    }
  }

  @Test("A host that appears twice is an error")
  func twice() {
    #expect(throws: LeaseRecordError(message: "it has the host db1 twice")) {
      try LeaseRecord(Self.record(2, Self.owner("db1"), Self.owner("db1", 2)).bytes)
    }
  }

  @Test("The longest record that can be written can be read")
  func longest() throws {
    let text = String(repeating: "x", count: LeaseOwner.textMax)
    var record = LeaseRecord()
    record.slots = LeaseRecord.slotsMax
    for number in 0..<LeaseRecord.slotsMax {
      let host = String(repeating: "h", count: 60) + String(100 + number)
      record.owners.append(
        LeaseOwner(
          host: host, id: Self.id(1), boot: String(repeating: "b", count: 36), pid: Int(Int32.max),
          start: Int.max,
          label: text, uid: Int(UInt32.max), unit: text, since: Int(UInt32.max)))
    }
    #expect(try LeaseRecord(record.bytes) == record)
  }
}
