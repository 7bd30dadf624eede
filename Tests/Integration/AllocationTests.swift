// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneWire

@Suite("Heap allocations", .timeLimit(.minutes(15)))
struct AllocationTests {
  private static let count = 500
  /// More names than the bus caches routes for.
  private static let names = 5_000

  @Test("are counted")
  func counter() throws {
    let counted = try CountedBus()
    let least = try counted.allocations { _ = try RawClient.greeted(counted.bus) }
    #expect(least > 0)
  }

  struct Posting: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var observers = 1
    var patterns = ["load.unit"]
    var object = ""
    var batch = 1
    var names = 1
    var flags: FrameFlags = []
    var count: Int { max(names, AllocationTests.count) }

    func name(of number: Int) -> String { names == 1 ? "load.unit" : "load.unit\(number % names)" }
  }

  @Test(
    "are not made for a post",
    arguments: [
      Posting(testDescription: "one at a time"),
      Posting(testDescription: "one at a time, to ten", observers: 10),
      Posting(testDescription: "to nobody", observers: 0),
      Posting(testDescription: "acknowledged", flags: .acknowledge),
      Posting(testDescription: "about an object", object: "thing/1"),
      Posting(testDescription: "that a pattern matches", patterns: ["load.*"]),
      Posting(testDescription: "that a pattern for all below matches", patterns: ["load.**"]),
      Posting(testDescription: "in batches", batch: 100),
      Posting(testDescription: "in batches, to ten", observers: 10, batch: 100),
      Posting(testDescription: "in batches longer than a read", batch: 1_000),
      Posting(testDescription: "under names in turn", patterns: ["load.**"], names: 500),
      Posting(
        testDescription: "under more names than are cached", patterns: ["load.*"], batch: 100, names: names),
      Posting(
        testDescription: "under names in turn, each observed by itself",
        patterns: (0..<500).map { "load.unit\($0)" }, names: 500),
    ])
  func posts(_ posting: Posting) throws {
    let counted = try CountedBus()
    let poster = try RawClient.greeted(counted.bus)
    let observers = try (0..<posting.observers).map { _ in
      let observer = try RawClient.greeted(counted.bus)
      for (index, pattern) in posting.patterns.enumerated() {
        try observer.observe(pattern, object: posting.object, serial: Serial(index + 1))
      }
      return observer
    }
    func post() throws {
      for start in stride(from: 0, to: posting.count, by: posting.batch) {
        try poster.send { buffer in
          for number in start..<start + posting.batch {
            buffer.appendFrame(
              Post(), flags: posting.flags, serial: 2, name: posting.name(of: number), object: posting.object,
              text: String(repeating: "x", count: 64))
          }
        }
        for number in start..<start + posting.batch {
          for observer in observers { #expect(try observer.next().name == posting.name(of: number)) }
          if posting.flags.contains(.acknowledge) { _ = try poster.next(.ok) }
        }
      }
      try poster.settle()
    }
    try post()
    #expect(try counted.allocations(in: post) == 0)
  }

  @Test("are not made for a post whose userInfo is in a file", arguments: [1, 10])
  func files(observerCount: Int) throws {
    let counted = try CountedBus()
    let poster = try RawClient.greeted(counted.bus)
    let observers = try (0..<observerCount).map { _ in
      let observer = try RawClient(counted.bus)
      try observer.greet(capabilities: .descriptors)
      try observer.observe("load.unit", serial: 1)
      return observer
    }
    let length = WireLimits.descriptorPayloadLength
    let file = try SharedFile.make(SharedFile.bytes(length))
    func post() throws {
      for _ in 0..<Self.count {
        try poster.post("load.unit", file: file, length: length, serial: 1)
        for observer in observers {
          #expect(try observer.next().name == "load.unit")
          _ = try observer.takeFile(length: length)
        }
      }
      try poster.settle()
    }
    try post()
    #expect(try counted.allocations(in: post) == 0)
  }

  struct Asking: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var ask = Ask()
    var answer = AnswerKind.approve
    var text = ""
    var limit = 2
  }

  @Test(
    "are at most two for an ask",
    arguments: [
      Asking(testDescription: "that is approved", limit: 1),
      Asking(testDescription: "that is vetoed", answer: .veto, text: "a restore is running on this disk"),
      Asking(testDescription: "that is abstained from", answer: .abstain),
      Asking(testDescription: "that waits for all", ask: Ask(mode: .all)),
      Asking(testDescription: "in order", ask: Ask(mode: .order)),
      Asking(
        testDescription: "for a value", ask: Ask(mode: .first), answer: .value,
        text: "\"a text that is longer than a word\""),
    ])
  func asks(_ asking: Asking) throws {
    let counted = try CountedBus()
    let asker = try RawClient.greeted(counted.bus)
    let delegate = try RawClient.greeted(counted.bus)
    let name = asking.ask.mode.isForValues ? "disk.oldestBackup" : "disk.shouldPrune"
    try delegate.attach(Attach(patterns: [name]), object: "disk/1", serial: 1)
    func ask() throws {
      for serial in 1...Serial(Self.count) {
        try asker.send(
          asking.ask, serial: serial, name: name, object: "disk/1",
          text: String(repeating: "x", count: 64))
        // The bus sends a conclusion with the next question, or some milliseconds later.
        if serial > 1 { _ = try delegate.nextConclusion() }
        try delegate.answer(delegate.nextQuestion().question, asking.answer, asking.text)
        #expect(try asker.nextVerdict().isUnanswered == (asking.answer == .abstain))
      }
      _ = try delegate.nextConclusion()
      try asker.settle()
    }
    try ask()
    let allocations = try counted.allocations(in: ask)
    #expect(allocations <= UInt64(asking.limit * Self.count))
  }

  @Test("are not made for an ask without a delegate")
  func unansweredAsks() throws {
    let counted = try CountedBus()
    let asker = try RawClient.greeted(counted.bus)
    func ask() throws {
      for serial in 1...Serial(Self.count) {
        #expect(try asker.ask("disk.shouldPrune", object: "disk/1", serial: serial).isUnanswered)
      }
      try asker.settle()
    }
    try ask()
    #expect(try counted.allocations(in: ask) == 0)
  }
}
