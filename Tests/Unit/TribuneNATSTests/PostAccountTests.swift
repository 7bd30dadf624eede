// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

@testable import TribuneNATS

@Suite("Accounts of notifications between hosts", .timeLimit(.minutes(15)))
struct PostAccountTests {
  private let instance = Instance()

  @Test("Notifications in order are new, without a loss")
  func inOrder() {
    var counter = ExportCounter()
    var account = ImportAccount()
    for name in ["a", "b", "a", "c", "b", "a"] {
      #expect(account.record(counter.next(name), of: name, from: "db1", instance) == .new(lost: 0))
    }
  }

  @Test("A repeated notification is dropped, even out of order")
  func duplicates() {
    var counter = ExportCounter()
    var account = ImportAccount()
    let numbers = (0..<3).map { _ in counter.next("a") }
    for number in numbers { _ = account.record(number, of: "a", from: "db1", instance) }
    for number in numbers { #expect(account.record(number, of: "a", from: "db1", instance) == .stale) }
    #expect(account.record(counter.next("a"), of: "a", from: "db1", instance) == .new(lost: 0))
  }

  @Test("A notification that a later one of its host overtook is lost, and counted once")
  func late() {
    var counter = ExportCounter()
    var account = ImportAccount()
    let names = ["a", "a", "a", "b", "c"]
    let numbers = names.map { counter.next($0) }
    func record(_ index: Int) -> ImportAccount.Arrival {
      account.record(numbers[index], of: names[index], from: "db1", instance)
    }
    #expect(record(0) == .new(lost: 0))
    #expect(record(4) == .new(lost: 0))
    #expect(record(2) == .late(lost: 2))
    #expect(record(3) == .late(lost: 1))
    for index in numbers.indices { #expect(record(index) == .stale) }
    for name in names {
      #expect(account.record(counter.next(name), of: name, from: "db1", instance) == .new(lost: 0))
    }
  }

  @Test("A gap is counted for its name only; names that are not imported are ignored")
  func gaps() {
    var counter = ExportCounter()
    var account = ImportAccount()
    _ = account.record(counter.next("a"), of: "a", from: "db1", instance)
    for _ in 0..<3 { _ = counter.next("a") }
    for _ in 0..<5 { _ = counter.next("other") }
    #expect(account.record(counter.next("a"), of: "a", from: "db1", instance) == .new(lost: 3))
  }

  @Test("The first notification of a name reports no earlier loss")
  func first() {
    var counter = ExportCounter()
    var account = ImportAccount()
    _ = counter.next("a")
    #expect(account.record(counter.next("a"), of: "a", from: "db1", instance) == .new(lost: 0))
  }

  @Test("A restarted gateway begins again")
  func restart() {
    var account = ImportAccount()
    let number = ExportNumber(sequence: 1, count: 1)
    let next = Instance()
    #expect(account.record(number, of: "a", from: "db1", instance) == .new(lost: 0))
    #expect(account.record(number, of: "a", from: "db1", next) == .newAfterGap)
    for one in [instance, next] { #expect(account.record(number, of: "a", from: "db1", one) == .stale) }
    #expect(account.record(number, of: "a", from: "db2", Instance()) == .new(lost: 0))
  }

  @Test("Another gateway that uses a host's name does not suppress the host's notifications")
  func doubled() {
    var counter = ExportCounter()
    var account = ImportAccount()
    #expect(account.record(counter.next("a"), of: "a", from: "db1", instance) == .new(lost: 0))
    for count in 1...3 {
      for _ in 0..<count {
        let forged = ExportNumber(sequence: 1_000, count: 1_000)
        #expect(account.record(forged, of: "a", from: "db1", Instance()) == .newAfterGap)
      }
      #expect(account.record(counter.next("a"), of: "a", from: "db1", instance) == .newAfterGap)
      for _ in 0..<20 {
        #expect(account.record(counter.next("a"), of: "a", from: "db1", instance) == .new(lost: 0))
      }
    }
  }

  @Test("Names beyond the limit cause no false loss")
  func manyNames() {
    var counter = ExportCounter()
    var account = ImportAccount()
    for round in 0..<3 {
      for index in 0..<(ExportCounter.namesMax + 100) {
        let arrival = account.record(counter.next("n\(index)"), of: "n\(index)", from: "db1", instance)
        #expect(arrival == .new(lost: 0), "round \(round), \(index)")
      }
    }
  }

  @Test("With hosts beyond the limit, a possibly forgotten host has an unknown loss")
  func forgotten() {
    var account = ImportAccount()
    let number = ExportNumber(sequence: 1, count: 1)
    for index in 0...ImportAccount.hostsMax {
      let arrival = account.record(number, of: "a", from: "h\(index)", instance)
      #expect(arrival == (index < ImportAccount.hostsMax ? .new(lost: 0) : .newAfterGap))
    }
    let later = ExportNumber(sequence: 9, count: 9)
    #expect(account.record(later, of: "a", from: "h0", instance) == .newAfterGap)
    #expect(account.record(later, of: "a", from: "h\(ImportAccount.hostsMax)", instance) == .new(lost: 7))
  }

  @Test("The last poster of each host and name is known, up to a limit")
  func posters() {
    var posters = RemotePosters()
    for pid in 1...3 { posters.record(RemotePeer(pid: Int32(pid)), of: "b", from: "db1", at: .now) }
    posters.record(RemotePeer(pid: 4), of: "a", from: "db1", at: .now)
    #expect(posters.all.map(\.name) == ["a", "b"])
    #expect(posters.all.map(\.peer.pid) == [4, 3])
    #expect(posters.all.map(\.count) == [1, 3])
    for index in 0..<10_000 { posters.record(RemotePeer(), of: "n\(index)", from: "db1", at: .now) }
    #expect(posters.all.count <= RemotePosters.countMax)
  }

  @Test("Losses add up by host; an unknown number stays unknown")
  func losses() {
    var losses = Losses()
    losses.add(2, from: "db2")
    losses.add(3, from: "db2")
    losses.add(1, from: "db1")
    losses.add(nil, from: "db1")
    losses.add(nil, from: nil)
    let all = losses.take()
    #expect(all.map(\.host) == ["db1", "db2", nil])
    #expect(all.map(\.count) == [nil, 5, nil])
    #expect(losses.take().isEmpty)
  }

  @Test("Losses of very many hosts are counted together")
  func manyHosts() {
    var losses = Losses()
    for index in 0..<1_000 { losses.add(1, from: "h\(index)") }
    let all = losses.take()
    #expect(all.count == Losses.hostsMax + 1)
    #expect(all.reduce(0) { $0 + ($1.count ?? 0) } == 1_000)
  }

  @Test(
    "A gateway's own posts, and those of unknown posters, do not leave the host",
    arguments: [
      ("backup", true), ("tribune-nats", false), ("", false),
    ])
  func loops(process: String, isAllowed: Bool) {
    #expect(LoopRule.allows(poster: Poster(pid: 1, process: process)) == isAllowed)
    #expect(!LoopRule.allows(poster: nil))
    #expect(LoopRule.isKnown(Poster(pid: 1, process: process)) == !process.isEmpty && !LoopRule.isKnown(nil))
  }

  @Test("A question crosses only once")
  func questions() {
    #expect(LoopRule.allows(asker: Asker(process: "tribunectl")))
    #expect(!LoopRule.allows(asker: Asker(process: "tribune-nats")))
  }
}
