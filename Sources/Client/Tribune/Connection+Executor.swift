// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem

extension Connection {
  /// An executor that runs tasks on the thread that receives for this connection.
  ///
  /// That thread resumes the tasks that wait for the bus. If such a task also runs on the thread, resuming it wakes no
  /// other thread. A wake-up is most of the cost of a quick `ask`:
  ///
  /// ```swift
  /// let verdict = try await withTaskExecutorPreference(bus.executor) {
  ///   try await bus.ask("archive.shouldPrune", object: "archive/photos")
  /// }
  /// ```
  ///
  /// A switch to the executor and back costs two hops, so the executor pays off from the second `ask` on. While a task
  /// runs on the thread, the connection receives no frames until the task suspends. If that takes more than about 10
  /// ms, another thread takes over receiving. Until the first thread is free, and after the connection's end, the
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
