// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@testable import TribuneNATS

@Suite("Retained notifications between hosts", .timeLimit(.minutes(15)))
struct RetainedTests {
  private let bucket = Bucket(cluster: "shop")
  private let key = RetainedKey(name: "disk.didMount", object: "usb")

  @Test(
    "A name and an object are a key, and come back",
    arguments: [
      "", "usb", "disk/usb 1", "a.b=c", "\u{dc}bung", "//", "*>",
    ])
  func keys(object: String) {
    let key = RetainedKey(name: "disk.didMount", object: object)
    #expect(key.text.hasPrefix("disk.didMount./"))
    #expect(!key.text.dropFirst("disk.didMount./".count).contains { ".*> ".contains($0) })
    #expect(bucket.key(of: bucket.subject(key)) == key)
  }

  @Test(
    "What is no key of this bucket is none",
    arguments: [
      "$KV.tribune_shop.a", "$KV.tribune_shop./a", "$KV.tribune_shop.a/b", "$KV.tribune_shop.a./=4",
      "$KV.tribune_shop.a./=zz", "$KV.tribune_shop.a./.b", "$KV.tribune_shop.a./=0A", "$KV.other.a./b",
      "$KV.tribune_shop.a..b./c", "$KV.tribune_shop.tribune.x./c", "", "$KV.tribune_shop.",
    ])
  func noKeys(subject: String) { #expect(bucket.key(of: subject) == nil) }

  @Test(
    "A pattern of names is one of keys",
    arguments: [
      ("a.b", "$KV.tribune_shop.a.b.*"), ("a.*", "$KV.tribune_shop.a.*.*"), ("a.**", "$KV.tribune_shop.a.>"),
      ("**", "$KV.tribune_shop.>"),
    ])
  func patterns(pattern: String, subjects: String) throws {
    #expect(bucket.subjects(matching: try Pattern(pattern)) == subjects)
  }

  @Test("What others store is posted, once, and nothing older")
  func others() {
    var ledger = RetainedLedger()
    #expect(ledger.arrive(key, revision: 5, holder: "db2", isOwn: false) == true)
    #expect(ledger.arrive(key, revision: 5, holder: "db2", isOwn: false) == false)
    #expect(ledger.arrive(key, revision: 4, holder: "db3", isOwn: false) == false)
    #expect(ledger.arrive(key, revision: 6, holder: "db3", isOwn: false) == true)
    #expect(ledger.holder(of: key) == "db3")
  }

  @Test("This host's own value is not posted again")
  func own() {
    var ledger = RetainedLedger()
    ledger.send(key)
    #expect(ledger.arrive(key, revision: 1, holder: "db1", isOwn: true) == false)
    ledger.send(key)
    ledger.send(key)
    #expect(ledger.arrive(key, revision: 2, holder: "db1", isOwn: true) == false)
    #expect(ledger.arrive(key, revision: 3, holder: "db1", isOwn: true) == false)
  }

  @Test("Of two that store at once, the last in the bucket wins on both", arguments: [true, false])
  func race(isOwnLast: Bool) {
    var ledger = RetainedLedger()
    ledger.send(key)
    if isOwnLast {
      #expect(ledger.arrive(key, revision: 1, holder: "db2", isOwn: false) == true)
      // The bus has the other's value by now, and has to get back its own.
      #expect(ledger.arrive(key, revision: 2, holder: "db1", isOwn: true) == true)
    } else {
      #expect(ledger.arrive(key, revision: 1, holder: "db1", isOwn: true) == false)
      #expect(ledger.arrive(key, revision: 2, holder: "db2", isOwn: false) == true)
    }
  }

  @Test("A bus that has lost everything gets this host's own values, too")
  func restored() {
    var ledger = RetainedLedger()
    #expect(ledger.arrive(key, revision: 7, holder: "db1", isOwn: true) == true)
  }

  @Test("More keys than are remembered are posted all the same")
  func manyKeys() {
    var ledger = RetainedLedger()
    for index in 0...RetainedLedger.keysMax {
      let key = RetainedKey(name: "n\(index)", object: "")
      #expect(ledger.arrive(key, revision: UInt64(index + 1), holder: "db2", isOwn: false) == true)
    }
  }

  @Test("Two ledgers agree about the last value, whatever is stored in which order")
  func agreement() {
    var generator = SplitMix64(seed: 19)
    for _ in 0..<2_000 {
      var ledgers = [RetainedLedger(), RetainedLedger()]
      // What each bus has, and what the bucket has and each host has yet to see.
      var buses = [-1, -1]
      var log: [(host: Int, value: Int)] = []
      var sent: [[Int]] = [[], []]
      var seen = [0, 0]
      for step in 0..<12 {
        let host = Int.random(in: 0..<2, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0:
          buses[host] = step
          ledgers[host].send(key)
          sent[host].append(step)
        case 1: if !sent[host].isEmpty { log.append((host, sent[host].removeFirst())) }
        default: see(host, &ledgers, &buses, log, &seen)
        }
      }
      for host in 0..<2 { while !sent[host].isEmpty { log.append((host, sent[host].removeFirst())) } }
      for host in 0..<2 { while seen[host] < log.count { see(host, &ledgers, &buses, log, &seen) } }
      guard let last = log.last else { continue }
      #expect(buses == [last.value, last.value])
    }
  }

  /// A host takes the next value from the bucket.
  private func see(
    _ host: Int, _ ledgers: inout [RetainedLedger], _ buses: inout [Int], _ log: [(host: Int, value: Int)],
    _ seen: inout [Int]
  ) {
    guard seen[host] < log.count else { return }
    let next = log[seen[host]]
    seen[host] += 1
    let isNews = ledgers[host].arrive(
      key, revision: UInt64(seen[host]), holder: "db\(next.host)", isOwn: next.host == host)
    if isNews { buses[host] = next.value }
  }
}
