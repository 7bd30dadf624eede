// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem

extension Connection {
  /// An executor that runs tasks on the thread that receives the connection's frames.
  ///
  /// This thread also resumes the tasks that wait for the bus, so a task on the executor continues without
  /// waking another thread. Waking a thread is most of the cost of a quick `ask`. An example:
  ///
  /// ```swift
  /// let verdict = try await withTaskExecutorPreference(bus.executor) {
  ///   try await bus.ask("archive.shouldPrune", object: "archive/photos")
  /// }
  /// ```
  ///
  /// Switching to the executor and back changes threads twice. The executor therefore saves time only if the
  /// closure calls `ask` at least twice. While a task runs on the thread, the connection receives no frames.
  /// If the task does not suspend within 10 to 20 ms, another thread takes over receiving. Until that task
  /// suspends or ends, and after the connection's end, other tasks of the executor run on Swift's threads.
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
