// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import TribuneNATS

@Suite("Retained notifications between hosts", .timeLimit(.minutes(15)))
struct RetainedTests {
  private let bucket = Bucket(cluster: "shop")
  private let key = RetainedKey(name: "disk.didMount", object: "usb")

  @Test(
    "A name and an object make a key, and are restored from it",
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
    "An invalid key is refused",
    arguments: [
      "$KV.tribune_shop.a", "$KV.tribune_shop./a", "$KV.tribune_shop.a/b", "$KV.tribune_shop.a./=4",
      "$KV.tribune_shop.a./=zz", "$KV.tribune_shop.a./.b", "$KV.tribune_shop.a./=0A", "$KV.other.a./b",
      "$KV.tribune_shop.a..b./c", "$KV.tribune_shop.tribune.x./c", "", "$KV.tribune_shop.",
    ])
  func noKeys(subject: String) { #expect(bucket.key(of: subject) == nil) }

  @Test(
    "A pattern of names is a pattern of keys",
    arguments: [
      ("a.b", "$KV.tribune_shop.a.b.*"), ("a.*", "$KV.tribune_shop.a.*.*"), ("a.**", "$KV.tribune_shop.a.>"),
      ("**", "$KV.tribune_shop.>"),
    ])
  func patterns(pattern: String, subjects: String) throws {
    #expect(bucket.subjects(matching: try Pattern(pattern)) == subjects)
  }

  private func stored(_ ledger: inout RetainedLedger, _ payload: [UInt8]) -> RetainedLedger.Step {
    ledger.read(key, payload, isPosted: false, isOld: false)
  }

  @Test("Other hosts' values are posted once, and no older ones")
  func others() {
    var ledger = RetainedLedger()
    #expect(ledger.arrive(key, revision: 5, [1], isOwn: false) == .post)
    #expect(ledger.arrive(key, revision: 5, [1], isOwn: false) == .none)
    #expect(ledger.arrive(key, revision: 4, [2], isOwn: false) == .none)
    #expect(ledger.arrive(key, revision: 6, [2], isOwn: false) == .post)
  }

  @Test("A host's own value is stored against the last known revision, and is not posted again")
  func own() {
    var ledger = RetainedLedger()
    #expect(stored(&ledger, [1]) == .store)
    #expect(ledger.write(of: key) == .init(payload: [1], expected: 0))
    #expect(ledger.arrive(key, revision: 1, [1], isOwn: true) == .none)
    #expect(ledger.write(of: key) == nil)
    #expect(stored(&ledger, [2]) == .store)
    #expect(stored(&ledger, [3]) == .store)
    #expect(ledger.arrive(key, revision: 2, [2], isOwn: true) == .store)
    #expect(ledger.write(of: key) == .init(payload: [3], expected: 2))
    #expect(ledger.arrive(key, revision: 3, [3], isOwn: true) == .none)
  }

  @Test("If two hosts store at once, the first value in the bucket wins on both")
  func race() {
    var ledger = RetainedLedger()
    #expect(stored(&ledger, [1]) == .store)
    #expect(ledger.arrive(key, revision: 1, [2], isOwn: false) == .post)
    #expect(ledger.write(of: key) == nil)
  }

  @Test(
    "A value that is read before the gateway's own post is posted again once it is stored",
    arguments: [true, false])
  func unread(isReadBack: Bool) {
    var ledger = RetainedLedger()
    #expect(ledger.arrive(key, revision: 1, [2], isOwn: false) == .post)
    ledger.posted(key, isRefused: false)
    if isReadBack { #expect(ledger.read(key, [2], isPosted: true, isOld: false) == .none) }
    #expect(stored(&ledger, [1]) == .store)
    #expect(ledger.arrive(key, revision: 2, [1], isOwn: true) == (isReadBack ? .none : .post))
  }

  @Test(
    "An earlier local value yields to another host's value in the bucket, but replaces this host's"
  )
  func before() {
    for (isOwn, step) in [(false, RetainedLedger.Step.post), (true, .store)] {
      var ledger = RetainedLedger()
      #expect(ledger.read(key, [1], isPosted: false, isOld: true) == .store)
      #expect(ledger.arrive(key, revision: 7, [2], isOwn: isOwn) == step)
    }
    var ledger = RetainedLedger()
    #expect(ledger.arrive(key, revision: 7, [2], isOwn: false) == .post)
    #expect(ledger.read(key, [1], isPosted: false, isOld: true) == .none)
  }

  @Test(
    "A bus that lost everything gets all values; one that still has them does not",
    arguments: [true, false])
  func restored(isKept: Bool) {
    var ledger = RetainedLedger()
    #expect(ledger.arrive(key, revision: 7, [1], isOwn: true) == .post)
    ledger.posted(key, isRefused: false)
    ledger.restart()
    if isKept { #expect(ledger.read(key, [1], isPosted: true, isOld: true) == .none) }
    #expect(ledger.arrive(key, revision: 7, [1], isOwn: true) == (isKept ? .none : .post))
  }

  @Test("A value that the bus refused is posted when it comes again")
  func refused() {
    var ledger = RetainedLedger()
    #expect(ledger.arrive(key, revision: 7, [1], isOwn: false) == .post)
    ledger.posted(key, isRefused: true)
    #expect(ledger.arrive(key, revision: 7, [1], isOwn: false) == .post)
  }

  @Test("Keys beyond the limit are posted, but not shared")
  func manyKeys() {
    var ledger = RetainedLedger()
    for index in 0...RetainedLedger.keysMax {
      let key = RetainedKey(name: "n\(index)", object: "")
      #expect(ledger.arrive(key, revision: UInt64(index + 1), [1], isOwn: false) == .post)
    }
    #expect(stored(&ledger, [1]) == .full)
  }

  @Test("Waiting values have a limit in number and bytes, and finished ones make room")
  func room() {
    var ledger = RetainedLedger()
    let keys = (0...RetainedLedger.localMax).map { RetainedKey(name: "n\($0)", object: "") }
    for key in keys {
      let isLast = key == keys.last
      #expect(ledger.read(key, [1], isPosted: false, isOld: false) == (isLast ? .full : .store))
    }
    ledger.giveUp(keys[0])
    let large = [UInt8](repeating: 1, count: RetainedLedger.weightMax - RetainedLedger.localMax + 1)
    #expect(stored(&ledger, large + [1]) == .full)
    #expect(stored(&ledger, large) == .store)
    #expect(ledger.arrive(key, revision: 1, large, isOwn: true) == .none)
    #expect(stored(&ledger, large) == .store)
  }
}
