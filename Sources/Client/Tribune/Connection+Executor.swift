// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem

extension Connection {
  /// An executor that runs tasks on the thread that receives for this connection.
  ///
  /// The same thread resumes the tasks that wait for the bus. If it also runs a resumed task, no other thread has to
  /// wake. Waking a thread is most of the cost of a quick `ask`. An example:
  ///
  /// ```swift
  /// let verdict = try await withTaskExecutorPreference(bus.executor) {
  ///   try await bus.ask("archive.shouldPrune", object: "archive/photos")
  /// }
  /// ```
  ///
  /// Switching to the executor and back changes threads twice, so the executor pays off from the second `ask` on. While
  /// a task runs on the thread, the connection receives no frames. If the task does not suspend within about 10 ms,
  /// another thread takes over receiving. Until the first thread is free, and after the connection's end, the
  /// executor's tasks run on Swift's threads.
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
