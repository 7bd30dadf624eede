// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem

extension Connection {
  /// Runs tasks on the thread that receives for this connection.
  ///
  /// That thread resumes the tasks that wait for the bus. A task that also runs there is resumed without a thread
  /// wake-up, which is most of the cost of a quick `ask`:
  ///
  /// ```swift
  /// let verdict = try await withTaskExecutorPreference(bus.executor) {
  ///   try await bus.ask("archive.shouldPrune", object: "archive/photos")
  /// }
  /// ```
  ///
  /// A switch to the executor and back costs two hops, so it pays from the second `ask` on. The connection does not
  /// receive until such a task suspends. After about 10 ms, another thread takes over receiving, and the executor's
  /// tasks run on Swift's threads until the first thread is free, and after the connection's end.
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
