// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TribuneWire

final class PostingThread: Sendable {
  private let isOver = Atomic(false)
  private let failure = Mutex<(any Error)?>(nil)
  private let started = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)

  /// Posts while `body` runs, beginning before it. At most `unansweredMax` posts await their `ok`; with nil, posts
  /// request none. Serials count up from 1.
  static func run(
    on bus: TestBus, unansweredMax: Serial? = 8, _ fill: @escaping @Sendable (ByteBuffer, Serial) -> Void,
    during body: () throws -> Void
  ) throws {
    let posting = PostingThread()
    let path = bus.path
    let thread = Thread {
      do {
        try posting.post(at: path, unansweredMax, fill)
      } catch {
        posting.failure.withLock { $0 = error }
      }
      posting.started.signal()
      posting.ended.signal()
    }
    thread.start()
    posting.started.wait()
    defer {
      posting.isOver.store(true, ordering: .relaxed)
      posting.ended.wait()
    }
    try body()
    if let failure = posting.failure.withLock({ $0 }) { throw failure }
  }

  private func post(at path: String, _ unansweredMax: Serial?, _ fill: (ByteBuffer, Serial) -> Void) throws {
    let client = try RawClient(path: path)
    try client.greet()
    var number: Serial = 0
    var answered: Serial = 0
    while !isOver.load(ordering: .relaxed) {
      number += 1
      try client.send { fill($0, number) }
      while let unansweredMax, number - answered > unansweredMax || number == 1, answered < number {
        answered = try client.next(.ok).header.serial
      }
      if number == 1 { started.signal() }
    }
    while unansweredMax != nil, answered < number { answered = try client.next(.ok).header.serial }
  }
}
