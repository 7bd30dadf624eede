// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem

extension Connection {
  /// Runs tasks on the thread that receives for this connection.
  ///
  /// That thread resumes the tasks that wait for the bus. A task that also runs there needs no wake-up of another
  /// thread, which is most of the cost of a quick `ask`:
  ///
  /// ```swift
  /// let verdict = try await withTaskExecutorPreference(bus.executor) {
  ///   try await bus.ask("archive.shouldPrune", object: "archive/photos")
  /// }
  /// ```
  ///
  /// Switching to the executor and back costs one hop each, so it pays from the second `ask` on. Until such a task
  /// suspends, the connection does not receive. After about 10 ms, another thread takes over receiving, and the
  /// executor's tasks run on Swift's threads until the first thread is back, and after the connection's end.
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
