// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport

@testable import TribuneNATS

@Suite("Retained values behind a network that delays, loses, repeats and reorders", .timeLimit(.minutes(15)))
struct RetainedModelTests {
  @Test("At rest, every bus has the bucket's values", arguments: Seeds.all)
  func faults(seed: UInt64) throws { try live(seed, isFaulty: true) }

  @Test("Without faults, every bus has the bucket's values at rest", arguments: Seeds.all)
  func delays(seed: UInt64) throws { try live(seed, isFaulty: false) }

  private func live(_ seed: UInt64, isFaulty: Bool) throws {
    var generator = SplitMix64(seed: seed)
    for life in 0..<2_000 {
      var world = RetainedWorld(generator.next(), isFaulty: isFaulty)
      for _ in 0..<Int.random(in: 1..<80, using: &generator) { world.step() }
      world.rest()
      let problem = world.problem
      try #require(problem == nil, "life \(life)")
    }
  }
}

private struct RetainedWorld {
  struct Value: Equatable {
    /// Every fifth clears the value.
    var number: Int

    var payload: [UInt8] { number % 5 == 0 ? [] : Array("\(number)".utf8) }
  }

  struct Stored {
    var payload: [UInt8]
    var host: Int
  }

  struct Reading {
    var payload: [UInt8]
    var isPosted: Bool
    var isOld = false
  }

  struct Write {
    var host: Int
    var write: RetainedLedger.Write
  }

  enum Post {
    case underWay([UInt8])
    case made
  }

  struct Host {
    var ledger = RetainedLedger()
    var retained: Reading?
    var unread: [Reading] = []
    var isReading = true
    var post: Post?
    var heard = 0
  }

  private static let key = RetainedKey(name: "a", object: "")

  private let isFaulty: Bool
  private var random: SplitMix64
  private var hosts = [Host(), Host(), Host()]
  private var writes: [Write] = []
  private var bucket: [Stored] = []
  private var lastNumber = 0
  private var posters: Set<Int> = []

  init(_ seed: UInt64, isFaulty: Bool) { (random, self.isFaulty) = (SplitMix64(seed: seed), isFaulty) }

  // MARK: Steps

  mutating func step() {
    let host = Int.random(in: hosts.indices, using: &random)
    switch Int.random(in: 0..<16, using: &random) {
    case 0, 1: postLocally(host)
    case 2...4: read(host)
    case 5...7: write()
    case 8...10: hear(host)
    case 11, 12: goOn(host)
    case 13: send(host)
    case 14 where isFaulty: fail(host)
    default: if !hosts[host].isReading { beginToRead(host) }
    }
  }

  private mutating func postLocally(_ host: Int) {
    lastNumber += 1
    posters.insert(host)
    put(Value(number: lastNumber).payload, host, isPosted: false)
  }

  private mutating func put(_ payload: [UInt8], _ host: Int, isPosted: Bool) {
    let reading = Reading(payload: payload, isPosted: isPosted)
    hosts[host].retained = payload.isEmpty ? nil : reading
    if hosts[host].isReading { hosts[host].unread.append(reading) }
  }

  private mutating func read(_ host: Int) {
    guard !hosts[host].unread.isEmpty else { return }
    let next = hosts[host].unread.removeFirst()
    let step = hosts[host].ledger.read(
      Self.key, next.payload, isPosted: next.isPosted, isOld: next.isOld)
    if step == .store { send(host) }
  }

  private mutating func send(_ host: Int) {
    if let write = hosts[host].ledger.write(of: Self.key) { writes.append(Write(host: host, write: write)) }
  }

  private mutating func write() {
    guard !writes.isEmpty else { return }
    let index = Int.random(in: writes.indices, using: &random)
    let one = writes[index]
    if !isFaulty || !random.oneIn(4) { writes.remove(at: index) }
    if isFaulty, random.oneIn(4) { return }
    guard one.write.expected == bucket.count else { return }
    bucket.append(Stored(payload: one.write.payload, host: one.host))
  }

  private mutating func hear(_ host: Int) {
    guard hosts[host].isReading, hosts[host].post == nil, hosts[host].heard < bucket.count else { return }
    let stored = bucket[hosts[host].heard]
    hosts[host].heard += 1
    let step = hosts[host].ledger.arrive(
      Self.key, revision: UInt64(hosts[host].heard), stored.payload, isOwn: stored.host == host)
    switch step {
    case .store: send(host)
    case .post: hosts[host].post = .underWay(stored.payload)
    case .none, .full: return
    }
  }

  private mutating func goOn(_ host: Int) {
    switch hosts[host].post {
    case .underWay(let payload):
      put(payload, host, isPosted: true)
      hosts[host].post = .made
    case .made: endPost(host, isRefused: false)
    case nil: return
    }
  }

  private mutating func endPost(_ host: Int, isRefused: Bool) {
    hosts[host].post = nil
    hosts[host].ledger.posted(Self.key, isRefused: isRefused)
  }

  // MARK: Faults

  private mutating func fail(_ host: Int) {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: hosts[host].heard = max(0, bucket.count - 1)
    case 1: endReading(host)
    case 2:
      if random.oneIn(2) { hosts[host].retained = nil }
      endReading(host)
      if hosts[host].post != nil, random.oneIn(2) { endPost(host, isRefused: true) }
    default:
      if case .underWay = hosts[host].post, random.oneIn(2) { goOn(host) }
      hosts[host].post = nil
      hosts[host].ledger = RetainedLedger()
      endReading(host)
      if hosts[host].retained?.isPosted == true, random.oneIn(2) { hosts[host].retained = nil }
    }
  }

  private mutating func endReading(_ host: Int) { (hosts[host].isReading, hosts[host].unread) = (false, []) }

  private mutating func beginToRead(_ host: Int) {
    hosts[host].isReading = true
    if var old = hosts[host].retained {
      old.isOld = true
      hosts[host].unread = [old]
    }
    hosts[host].ledger.restart()
    hosts[host].heard = max(0, bucket.count - 1)
  }

  // MARK: The end

  mutating func rest() {
    for host in hosts.indices where !hosts[host].isReading { beginToRead(host) }
    let all = hosts.indices
    repeat {
      for host in all {
        while !hosts[host].unread.isEmpty { read(host) }
        while hosts[host].post != nil { goOn(host) }
        hear(host)
        send(host)
      }
      for one in writes where one.write.expected == bucket.count {
        bucket.append(Stored(payload: one.write.payload, host: one.host))
      }
      writes = []
    } while all.contains { host in
      !hosts[host].unread.isEmpty || hosts[host].post != nil || hosts[host].heard < bucket.count
    }
  }

  var problem: String? {
    for (index, host) in hosts.enumerated() {
      let has = host.retained?.payload ?? []
      let due = bucket.last?.payload ?? []
      if has != due { return "host \(index) has \(has), and the bucket \(due)" }
      if host.ledger.write(of: Self.key) != nil { return "host \(index) still has something to store" }
      let numbers = bucket.filter { $0.host == index }.compactMap {
        Int(String(decoding: $0.payload, as: UTF8.self))
      }
      if numbers != numbers.sorted() {
        return "of host \(index), an older value came behind a newer one: \(numbers)"
      }
    }
    if !isFaulty, posters.count == 1, bucket.last?.payload != Value(number: lastNumber).payload {
      return "the last value of the only one that posts is not there"
    }
    return nil
  }
}
