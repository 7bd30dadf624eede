// SPDX-License-Identifier: Apache-2.0

import CBusDriver
import Foundation

extension Catalogue {
  /// Times and memory of whole processes.
  static func processWorks(_ effort: Effort, _ programs: Programs) -> [Work] {
    [
      askProcess(effort, programs), start(effort, programs), rest(effort, programs), idle(effort, programs),
      wakeups(effort), lines(effort, programs),
    ]
  }

  private static func askProcess(_ effort: Effort, _ programs: Programs) -> Work {
    let ours = Subject.variant("tribunectl", "tribunectl ask")
    let theirs = Subject("busctl", "busctl call", .peer, on: .dbusDaemon)
    return Work(
      name: "ask-process", title: "A question as a whole process",
      note: """
        `tribunectl ask`, as it stands in `ExecCondition=`, and `busctl call` to a service that answers with a \
        boolean: from the call that makes the process until it has ended. busctl goes through dbus-daemon.
        """,
      unit: .nanoseconds, subjects: [ours, theirs], baseline: ours, turns: effort.tripTurns,
      targets: [
        Target(
          title: "`tribunectl ask` as a whole process", subject: ours, reference: .subject(theirs),
          bound: .atMost(1))
      ],
      measure: .trips(effort.processes) { place, count in
        let server = try place.server()
        return place.subject == ours
          ? try ProcessTimes.asks(count, by: programs.tribunectl, on: server)
          : try ProcessTimes.calls(count, by: "/usr/bin/busctl", on: server)
      })
  }

  private static func lines(_ effort: Effort, _ programs: Programs) -> Work {
    let ours = Subject.variant("tribunectl", "tribunectl post --lines, observe")
    let redis = Subject("redis-cli", "redis-cli --pipe, SUBSCRIBE", .peer, on: .redis)
    let mosquitto = Subject("mosquitto_pub", "mosquitto_pub -l, mosquitto_sub", .peer, on: .mosquitto)
    return Work(
      name: "lines", title: "\(effort.lines) lines from a file into a file, by each one's tools",
      note: """
        From the start of the program that posts until the other has written the last line. With `--pace=forever`, \
        `tribunectl post` waits for the observer. Without a figure, lines were lost.
        """,
      unit: .messagesPerSecond, subjects: [ours, redis, mosquitto], baseline: ours, turns: 1,
      targets: [
        Target(
          title: "lines through a pipe of tools", subject: ours, reference: .bestPeer, bound: .atLeast(1))
      ],
      measure: .rate(step: effort.lines, worth: 1) { place, count in
        try LinePipe(programs, on: place.server()).run(count)
      })
  }

  private static func start(_ effort: Effort, _ programs: Programs) -> Work {
    let ours = Subject.variant("tribuned", "tribuned", on: nil)
    let theirs = Subject("dbus-daemon", "dbus-daemon", .peer, on: nil)
    return Work(
      name: "start", title: "A daemon's start",
      note: "From the call that makes the process until it says READY=1.",
      unit: .nanoseconds, subjects: [ours, theirs], baseline: ours, turns: effort.tripTurns,
      targets: [
        Target(
          title: "the daemon, exec to READY=1", subject: ours, reference: .subject(theirs),
          bound: .atMost(1.5))
      ],
      measure: .trips(effort.processes) { place, count in
        place.subject == ours
          ? try ProcessTimes.starts(count, of: programs.tribuned, as: .resting)
          : try ProcessTimes.starts(
            count, of: PeerProgram(.dbusDaemon, peers: programs.peers).path, as: .dbusDaemon)
      })
  }

  private static func rest(_ effort: Effort, _ programs: Programs) -> Work {
    let ours = Subject.variant("tribuned", "tribuned", on: nil)
    let theirs = Subject("dbus-daemon", "dbus-daemon", .peer, on: nil)
    return Work(
      name: "memory", title: "Memory of a daemon that rests",
      note: "What it has resident (VmRSS) once it is ready, with the pages of its program.",
      unit: .bytes, subjects: [ours, theirs], baseline: ours, turns: 1,
      targets: [
        Target(
          title: "resident memory, idle", subject: ours, reference: .none, bound: .atMost(8 * 1024 * 1024))
      ],
      measure: .quantity { place in
        let isOurs = place.subject == ours
        let program =
          try isOurs ? programs.tribuned : PeerProgram(.dbusDaemon, peers: programs.peers).path
        return Double(
          try FreshDaemon.run(program, as: isOurs ? .resting : .dbusDaemon) { try $0.restingBytes() })
      })
  }

  private static func idle(_ effort: Effort, _ programs: Programs) -> Work {
    let ours = Subject.variant("tribuned", "tribuned", on: nil)
    return Work(
      name: "memory-each", title: "Memory of an idle connection",
      note: """
        What \(effort.weighedConnections) connections that do nothing add to what the daemon has resident, for each. What \
        the kernel keeps for a socket is not in it.
        """,
      unit: .bytes, subjects: [ours], baseline: ours, turns: 1,
      targets: [
        Target(
          title: "resident memory, per idle connection", subject: ours, reference: .none,
          bound: .atMost(3 * 1024))
      ],
      measure: .quantity { _ in
        try FreshDaemon.run(programs.tribuned, as: .resting) {
          try $0.residentBytesEach(of: effort.weighedConnections)
        }
      })
  }

  private static func wakeups(_ effort: Effort) -> Work {
    let ours = Subject.variant("tribuned", "tribuned", on: .resting)
    let milliseconds = effort.restMilliseconds
    return Work(
      name: "wakeups", title: "Wake-ups of a daemon that rests",
      note: "How often its threads wait anew in \(milliseconds) ms in which nothing happens.",
      unit: .count, subjects: [ours], baseline: ours, turns: 1,
      targets: [
        Target(
          title: "wake-ups when nothing happens", subject: ours, reference: .none, bound: .atMost(0))
      ],
      measure: .quantity { place in
        let server = try place.server()
        let before = try server.waitCount()
        try await Task.sleep(for: .milliseconds(milliseconds))
        return Double(try server.waitCount() - before)
      })
  }
}
