// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneSystem

import struct TribuneWire.Attach

@testable import Tribune

@Suite struct WorkQueueTests {
  @Test func withoutWorkThereIsOnlyReceiving() {
    var queue = receiving(with: 0)
    #expect(queue.step == "receive")
    #expect(queue.checkResult(after: 0) == "nothing")
  }

  @Test func oneTaskWatchesWorkTurnsUntilTheyEnd() {
    var queue = receiving(with: 2)
    #expect(queue.step == "work 1: 2, unwatched")
    queue.append(deliveries())
    #expect(queue.next(in: 1) != nil)
    #expect(queue.next(in: 1) != nil)
    queue.endWorking(1)
    queue.beginReceiving(.current)
    #expect(queue.step == "work 2: 1, watched")
    #expect(queue.next(in: 2) != nil)
    queue.endWorking(2)
    queue.beginReceiving(.current)
    #expect(queue.checkResult(after: 0) == "turns to 2")
    #expect(queue.checkResult(after: 2) == "nothing")
    queue.append(deliveries())
    #expect(queue.step == "work 3: 1, unwatched")
  }

  @Test func aLongWorkTurnIsTakenOverOnceUntilItsThreadIsBack() {
    var queue = receiving(with: 2)
    #expect(queue.step == "work 1: 2, unwatched")
    #expect(queue.next(in: 1) != nil)
    #expect(queue.checkResult(after: 0) == "turns to 1")
    #expect(queue.checkResult(after: 1) == "takeover")
    #expect(queue.checkResult(after: 1) == "nothing")
    queue.beginReceiving(.current)
    #expect(queue.step == "hand over 1")
    queue.append(deliveries())
    #expect(queue.step == "hand over 1")
    #expect(queue.next(in: 1) == nil)
    queue.endWorking(1)
    queue.append(deliveries())
    #expect(queue.step == "work 2: 1, unwatched")
  }

  @Test func aThreadThatComesBackReceivesWhileTheOtherWorks() {
    var queue = receiving(with: 2)
    #expect(queue.step == "work 1: 2, unwatched")
    #expect(queue.next(in: 1) != nil)
    queue.beginReceiving(.current)
    #expect(queue.next(in: 1) == nil)
    #expect(queue.step == "hand over 1")
    queue.endWorking(1)
    queue.append(deliveries())
    #expect(queue.step == "work 2: 1, watched")
  }

  @Test func aTakeoverIsTriedAgainIfNoThreadStarts() {
    var queue = receiving(with: 1)
    #expect(queue.step == "work 1: 1, unwatched")
    #expect(queue.checkResult(after: 1) == "takeover")
    queue.cancelTakeover(1)
    #expect(queue.checkResult(after: 1) == "takeover")
    queue.endWorking(1)
    queue.cancelTakeover(1)
    #expect(queue.checkResult(after: 1) == "nothing")
  }

  @Test func workLeftAtTheEndIsForOtherThreads() {
    var queue = receiving(with: 1)
    #expect(queue.end().count == 1)
    #expect(queue.end().isEmpty)
    #expect(queue.checkResult(after: 0) == "nothing")
  }

  private func receiving(with count: Int) -> WorkQueue {
    var queue = WorkQueue()
    queue.beginReceiving(.current)
    for _ in 0..<count { queue.append(deliveries()) }
    return queue
  }

  private func deliveries() -> WorkQueue.Work {
    .deliveries(AttachedDelegate(Nobody(), object: "", patterns: [], renewal: Attach(patterns: [])))
  }
}

final class Nobody: Delegate {
  func answer(_ question: Question) -> Answer { .abstain }
}

extension WorkQueue {
  fileprivate var step: String {
    mutating get {
      switch next() {
      case .receive: "receive"
      case .work(let turn, let count, let isWatched):
        "work \(turn): \(count), \(isWatched ? "watched" : "unwatched")"
      case .handOver(let work): "hand over \(work.count)"
      }
    }
  }

  fileprivate mutating func checkResult(after turn: UInt64) -> String {
    switch check(after: turn) {
    case .nothing: "nothing"
    case .turns(let last): "turns to \(last)"
    case .takeover: "takeover"
    }
  }
}
