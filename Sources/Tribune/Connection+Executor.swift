// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem

extension Connection {
  /// Runs tasks on the thread that receives for this connection.
  ///
  /// A task that waits for the bus is woken by that thread. If it also runs there, no other thread has to be
  /// woken for it, which is most of what a quick `ask` costs:
  ///
  /// ```swift
  /// let verdict = try await withTaskExecutorPreference(bus.executor) {
  ///   try await bus.ask("archive.shouldPrune", object: "archive/photos")
  /// }
  /// ```
  ///
  /// One hop to there and one back remain around what runs so: it pays for more than one `ask`. What such a
  /// task does between two suspensions keeps the connection from receiving. When it takes more than some 10 ms,
  /// another thread goes on with that, and until it is done, the executor's tasks run on Swift's own threads. So
  /// they do when the connection has ended.
  public var executor: any TaskExecutor { link }
}

extension Link: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    switch work.withLock({ $0.enqueue(job, from: .current) }) {
    case .waits: break
    case .wakes: wakeup.signal()
    case .isForOthers: globalConcurrentExecutor.enqueue(job)
    }
  }
}
