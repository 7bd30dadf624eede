// SPDX-License-Identifier: Apache-2.0

import CBusDriver

extension Catalogue {
  static func libraryWorks(_ effort: Effort) -> [Work] {
    let raw = Subject.variant("raw", "ask, raw bytes")
    let tasks = Subject("relay-tasks", "C relay between Swift tasks", .floor, on: .relay)
    let library = Subject.variant("library", "ask, Swift library")
    let onExecutor = Subject.variant("library-executor", "ask, Swift library, on the connection's executor")
    let rawPosts = Subject.variant("raw", "raw bytes")
    let posts = Subject.variant("library", "Swift library")
    return [
      Work(
        name: "library-ask", title: "Ask through the Swift library",
        note: """
          The library on both sides, 64 B of userInfo. Beside it are the same in raw bytes, and the relay between \
          tasks that get their messages as the library's do, from a thread that waits in the kernel.
          """,
        unit: .nanoseconds, subjects: [raw, tasks, library, onExecutor], baseline: raw,
        turns: effort.tripTurns,
        targets: [
          Target(
            title: "the Swift library: `ask`, p50", subject: library, reference: .subject(raw),
            bound: .atMost(1.3)),
          Target(
            title: "the Swift library: `ask` by a task on `Connection.executor`, p50", subject: onExecutor,
            reference: .subject(raw), bound: .atMost(1.3)),
        ],
        measure: .trips(effort.trips, warmUp: Int(driver_warm_up)) { place, count in
          let server = try place.server()
          return
            switch place.subject
          {
          case library: try await LibraryTasks.roundTrips(count, through: server, onExecutor: false)
          case onExecutor: try await LibraryTasks.roundTrips(count, through: server, onExecutor: true)
          case tasks: try await RelayTasks.roundTrips(count, through: server)
          default: try Driver.roundTrips(count, through: server)
          }
        }),
      Work(
        name: "library-posts", title: "Posts through the Swift library",
        note: """
          One connection of the library posts, each time with userInfo of its own, frames of 128 B, until an \
          observer of raw bytes has all. Beside it is the stream of raw bytes 1 → 1.
          """,
        unit: .messagesPerSecond, subjects: [rawPosts, posts], baseline: rawPosts, turns: effort.rateTurns,
        targets: [
          Target(
            title: "the Swift library: posts/s from one connection", subject: posts, reference: .none,
            bound: .atLeast(2e6))
        ],
        measure: .rate(step: Int(driver_stream_batch), worth: 1) { place, count in
          let server = try place.server()
          guard place.subject == posts else {
            return try Driver.stream(count, of: Int(driver_stream_bytes), to: 1, through: server)
          }
          return try await LibraryTasks.posts(count, through: server)
        }),
    ]
  }
}
