// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneTestSupport
import TribuneWire

@Suite("The daemon", .timeLimit(.minutes(15)))
struct DaemonTests {
  @Test("the daemon has no code of the simulation, which replaces its system calls")
  func withoutSimulation() throws {
    let program = try Programs.path(of: "tribuned")
    let imported = try FinishedProgram(["nm", "--dynamic", "--undefined-only", program]).output
    for call in ["sendmsg", "recvmsg", "epoll_wait"] { #expect(imported.contains(" U \(call)@")) }
  }

  @Test("a full standard error delays no client, and omitted lines are counted")
  func unreadErrors() throws {
    let folder = try TestFolder()
    let path = "\(folder.path)/bus"
    let daemon = try RunningProgram([try Programs.path(of: "tribuned"), "--listen=\(path)"])
    while try #require(try daemon.errors.line()).contains("listening") == false {}
    let (holder, asker) = (try RawClient(path: path), try RawClient(path: path))
    for client in [holder, asker] { try client.greet() }
    try holder.send(Hold(), serial: 1, name: "a.shouldB", text: "busy")
    #expect(try holder.next(.ok).header.serial == 1)
    // Each is logged as a warning. A pipe takes about 30 of them.
    let reason = String(repeating: "x", count: 2_000)
    func override(_ serial: Serial) throws {
      try asker.send(Ask(flags: .overrides, overrideReason: reason), serial: serial, name: "a.shouldB")
      #expect(try asker.nextVerdict().isOverridden)
    }
    for serial in 1...100 as ClosedRange<Serial> { try override(serial) }
    for _ in 0..<10 { #expect(try daemon.errors.line()?.contains("overridden") == true) }
    try override(101)
    var line = ""
    while !line.contains("lines were left out") { line = try #require(try daemon.errors.line()) }
    #expect(daemon.end(SIGTERM) == 0)
  }

  @Test("the daemon feeds the watchdog while its run loop turns, and only then")
  func watchdog() throws {
    let bus = try TestBus(environment: ["WATCHDOG_USEC": "50000"])
    for _ in 0..<3 { try bus.notifySocket.wait(for: "WATCHDOG=1") }
    try bus.freeze()
    try bus.notifySocket.drain()
    // Ten times the interval: only waiting can show silence.
    #expect(try !bus.notifySocket.waits(milliseconds: 500))
    bus.signal(SIGCONT)
    try bus.notifySocket.wait(for: "WATCHDOG=1")
  }

  @Test("after a reload, the new settings apply, also to connected clients")
  func newSettings() throws {
    let bus = try TestBus(
      configuration: "[Bus]\nObservationsMax=7\nDelegatesMax=8\nQueriesMax=9\nPayloadMax=128K\n")
    let (early, before) = try RawClient.welcomed(bus)
    #expect(before.observationsMax == 7)
    #expect(before.delegatesMax == 8)
    #expect(before.queriesMax == 9)
    #expect(before.payloadMax == 128 << 10)
    try bus.reload(
      "[Bus]\nQueriesMax=1\nPayloadMax=64K\n[Delegation]\nDelegateTimeoutSec=20ms\n[Socket]\nMode=0600\n"
        + "[Log]\nLevel=debug\n")
    #expect(FileStatus(bus.path)?.mode == 0o600)

    let (late, after) = try RawClient.welcomed(bus)
    #expect(after.queriesMax == 1)
    #expect(after.payloadMax == 64 << 10)
    #expect(try bus.log().contains("connection :2 from"))
    let payload = [UInt8](repeating: 1, count: 128 << 10)
    try early.post("a.b", bytes: payload, serial: 1)
    try early.settle()
    try late.post("a.b", bytes: payload, serial: 1)
    #expect(try late.nextError() == .frameTooLong)

    try early.attach(Attach(patterns: ["a.shouldB"]), serial: 2)
    try early.send(Ask(), serial: 3, name: "a.shouldB")
    try early.send(Ask(), serial: 4, name: "a.shouldB")
    let refusal = try early.next(.error)
    #expect(refusal.header.serial == 4)
    #expect(try refusal.decode(Refusal.self).code == .limitExceeded)
    #expect(try early.nextVerdict().outcomes.map(\.outcome) == [.timedOut])
  }

  @Test("a reload of a file with errors keeps the old settings, and logs where the errors are")
  func badReload() throws {
    let bus = try TestBus(configuration: "[Bus]\nQueriesMax=9\n")
    try bus.reload("[Bus]\nQueriesMax=3\n\nDelegatesMax=many\n")
    #expect(try bus.log().contains("\(bus.folder.path)/etc/tribuned.conf:4: error: DelegatesMax=: \"many\""))
    #expect(try bus.log().contains("the old one stays in force"))
    #expect(try RawClient.welcomed(bus).welcome.queriesMax == 9)
    try bus.reload("[Bus]\nQueriesMax=3\n")
    #expect(try RawClient.welcomed(bus).welcome.queriesMax == 3)
  }

  @Test("a reload while the folder is gone keeps the old settings, and says so")
  func folderGone() throws {
    let bus = try TestBus(
      configuration: "[Bus]\nQueriesMax=9\n[Query \"a.shouldB\"]\nRequireDelegate=label:steward\n")
    let etc = "\(bus.folder.path)/etc"
    try FileManager.default.moveItem(atPath: etc, toPath: "\(etc).gone")
    bus.signal(SIGHUP)
    try bus.notifySocket.wait(for: "READY=1")
    #expect(try bus.log().contains("\(etc): error: does not exist"))
    #expect(try bus.log().contains("the old one stays in force"))
    #expect(try RawClient.welcomed(bus).welcome.queriesMax == 9)
    let asker = try RawClient.greeted(bus)
    try asker.send(Ask(), serial: 1, name: "a.shouldB")
    #expect(try asker.nextVerdict().verdict == .vetoed)
  }

  @Test("the status line counts connections, registrations, posts and queries")
  func status() throws {
    let bus = try TestBus()
    let client = try RawClient.observing("a.*", on: bus)
    try client.attach(Attach(patterns: ["a.shouldB"]), serial: 2)
    try client.send(Ask(), serial: 3, name: "a.shouldB")
    try client.answer(try client.nextQuestion().question, .veto, "no")
    #expect(try client.nextVerdict().verdict == .vetoed)
    try client.settle()
    try bus.notifySocket.wait(
      for: "STATUS=1 connection, 1 observation, 1 delegate; 1 posted, 0 lost; 1 asked, 1 vetoed")
  }

  @Test("the status line still changes after a reload has sent it")
  func statusAfterReload() throws {
    let bus = try TestBus()
    var client: RawClient? = try RawClient.greeted(bus)
    try bus.reload("")
    #expect(bus.notifySocket.received.last?.contains("STATUS=1 connection,") == true)
    #expect(client != nil)
    client = nil
    try bus.notifySocket.wait { $0.hasPrefix("STATUS=0 connections") }
  }

  @Test(
    "on SIGTERM or SIGINT, the daemon delivers received, waiting and buffered posts, dismisses its clients, and ends",
    arguments: [SIGTERM, SIGINT])
  func end(signal: CInt) throws {
    let bus = try TestBus()
    let silent = try RawClient(bus)
    let observer = try RawClient.observing("load.*", on: bus)
    let suspended = try RawClient.greeted(bus)
    try suspended.sendConfirmed(Observe(suspension: .hold), serial: 1, name: "load.*")
    try suspended.sendConfirmed(Suspend(isSuspended: true), serial: 2)
    let watcher = try RawClient.observing("tribune.bus.**", on: bus)
    let (awaited, waiting) = (try RawClient.greeted(bus), try RawClient.greeted(bus))
    try awaited.sendConfirmed(Observe(options: .awaited), serial: 1, name: "disk.*")
    try waiting.send(Post(options: .awaited), serial: 1, name: "disk.willUnmount")
    _ = try awaited.next(.post)
    let poster = try RawClient.greeted(bus)
    // The kernel buffers more of one long write than of many short ones. All of it precedes the signal and exceeds
    // one read.
    try bus.freeze()
    let count: Serial = 100
    let text = String(repeating: "x", count: 1000)
    try poster.send {
      for serial in 1...count { $0.appendFrame(Post(), serial: serial, name: "load.unit", text: text) }
      $0.appendFrame(Post(style: .whenIdle), serial: count + 2, name: "load.idle")
      $0.appendFrame(Post(style: .asSoonAsPossible), serial: count + 1, name: "load.soon")
    }
    bus.signal(signal)
    bus.signal(SIGCONT)

    let received = try [observer, suspended, watcher, awaited, waiting, poster].map { try $0.readToEnd() }
    for frames in received {
      let last = try #require(frames.last)
      #expect(last.kind == .error && last.header.serial == 0)
      #expect(try last.decode(Refusal.self).code == .shuttingDown)
    }
    for frames in received[..<2] { #expect(frames.dropLast().map(\.header.serial) == Array(1...count + 2)) }
    #expect(received[2].dropLast().map(\.name) == ["tribune.bus.willStop"])
    for frames in received[3...] { #expect(frames.count == 1) }
    _ = try silent.readHello()
    try silent.expectClosed(with: .shuttingDown)
    let stopping = try bus.notifySocket.wait(for: "STOPPING=1")
    #expect(stopping.contains("\nSTATUS=Stopping"))
    #expect(bus.status() == 0)
    #expect(FileStatus(bus.path) == nil)
  }

  @Test("the bus acts on a signal that came before it was ready", arguments: ["TERM", "INT"])
  func earlySignal(name: String) throws {
    // The signal is pending from the start.
    let wrapper = [
      "/usr/bin/env", "--block-signal=\(name)", "sh", "-c", "kill -\(name) $$; exec \"$0\" \"$@\"",
    ]
    let bus = try TestBus(wrapper: wrapper)
    try bus.notifySocket.wait(for: "STOPPING=1")
    #expect(bus.status() == 0)
  }

  @Test("no thread takes the signals that the run loop handles")
  func blockedSignals() throws {
    let bus = try TestBus()
    // No thread of a stopped process ends.
    try bus.freeze()
    let threads = try bus.threads()
    #expect(threads.count > 1)
    for thread in threads {
      for signal in [SIGTERM, SIGINT, SIGHUP] { #expect(try isBlocked(signal, in: thread), "\(thread)") }
    }
  }

  @Test("a client that never reads does not keep the daemon from ending")
  func endWithoutReader() throws {
    let bus = try TestBus()
    let deaf = try RawClient.observing("load.*", on: bus)
    defer { withExtendedLifetime(deaf) {} }
    let poster = try RawClient.greeted(bus)
    for serial in 1...40 {
      try poster.post("load.unit", bytes: [UInt8](repeating: 7, count: 65_000), serial: Serial(serial))
    }
    try poster.settle()
    let taken = ContinuousClock().measure { #expect(bus.stop() == 0) }
    #expect(taken < .seconds(10))
  }

  @Test("the daemon raises its limit of open descriptors to the hard limit")
  func descriptorLimit() throws {
    let bus = try TestBus(wrapper: ["/usr/bin/prlimit", "--nofile=64:512"])
    #expect(try bus.descriptorLimits() == [512, 512])
    let clients = try (0..<200).map { _ in try RawClient.greeted(bus) }
    for client in clients { try client.settle() }
  }

  @Test("an idle bus neither wakes up nor uses processor time")
  func idle() throws {
    let bus = try TestBus(configuration: "[Bus]\nHelloTimeoutSec=2s\n")
    let clients = try (0..<10).map { _ in try RawClient.greeted(bus) }
    for client in clients { try client.settle() }
    try bus.notifySocket.wait { $0.hasPrefix("STATUS=10 connections") }
    // Only waiting can show silence. At first, an idle thread of libdispatch may still end.
    var isQuiet = false
    for _ in 0..<10 where !isQuiet {
      let waits = try bus.waitCounts()
      let ticks = try bus.processorTicks()
      #expect(try !bus.notifySocket.waits(milliseconds: 2000))
      isQuiet = try bus.waitCounts() == waits && bus.processorTicks() == ticks
    }
    #expect(isQuiet)
    for client in clients { try client.settle() }
  }
}
