// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@Suite("Inherited connections", .timeLimit(.minutes(15)))
struct InheritedConnectionTests {
  private static let abuse = """
    import os, socket, sys
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            one = socket.socket(fileno=os.dup(int(name)))
            if one.getpeername() == sys.argv[1]: found.append(one)
        except OSError: pass
    print(len(found), flush=True)
    for one in found:
        one.settimeout(60)
        one.sendall(bytes.fromhex(sys.argv[2]))
        if len(sys.argv) > 3: continue
        try:
            while one.recv(65536): pass
        except ConnectionResetError: pass
        print("ended", flush=True)
    """

  private static let forged = RawClient.bytes {
    $0.appendFrame(Post(), serial: 1_000_000, name: "forged.post", text: "{}")
    $0.appendFrame(
      Ask(overrideReason: "I was here"), serial: 1_000_001, name: "a.shouldB", text: "{}")
  }

  private static func abusing(_ path: String) -> [String] {
    ["python3", "-c", abuse, path, forged.hex.filter { $0 != " " }]
  }

  @Test(
    "the command of a hold keeps it while it runs, without tribunectl and over restarts, and can send no frames",
    arguments: [nil] + RestartedBus.Way.allCases.map { $0 })
  func hold(way: RestartedBus.Way?) async throws {
    let bus = try RestartedBus()
    let observer = try RawClient.observing("forged.**", on: bus)
    let gate = try ShellGate()
    let program = try bus.bus.start(
      [
        "hold", "c.shouldD", "a.shouldB", "--why=c", "--", "sh", "-c",
        "echo started; \(gate.wait); exec \"$@\"", "-",
      ]
        + Self.abusing(bus.path))
    #expect(try program.output.line() == "started")
    let killed = try WatchedProcess(program.pid)
    program.signal(SIGKILL)
    await killed.ended()
    if let way { try bus.restart(way) }
    for name in ["a.shouldB", "c.shouldD"] { #expect(try bus.bus.tribunectl("ask", name).status == 1) }
    try gate.open()
    #expect(try program.output.line() == "1")
    #expect(try program.output.line() == "ended")
    for name in ["a.shouldB", "c.shouldD"] { #expect(try bus.bus.tribunectl("ask", name).status == 0) }
    try observer.expectSilence()
  }

  @Test(
    "a command that uses the connection of a hold ends it; tribunectl reports that, and takes it again")
  func reported() throws {
    let bus = try TestBus()
    let gate = try ShellGate()
    let program = try bus.start(
      ["hold", "a.shouldB", "--why=c", "--", "sh", "-c", "\"$@\"; \(gate.wait); exit 3", "-"]
        + Self.abusing(bus.path) + ["blindly"])
    #expect(try program.errors.line()?.hasPrefix("holding a.shouldB") == true)
    let reason = "bytes came behind a frame that said that it was the last one"
    #expect(
      try program.errors.line()
        == "tribunectl: the hold has ended, and is taken again when it can be: \(reason)")
    #expect(try program.errors.line() == "tribunectl: the hold is in force again, but was interrupted")
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 1)
    try gate.open()
    #expect(program.status() == 3)
  }

  @Test("the command of a guard inherits a connection that takes nothing, and its end is announced")
  func guarded() throws {
    let bus = try TestBus()
    let observer = try bus.staying("observe", "a.didB", "--format={name}")
    let result = try TestBus.tribunectl(
      ["guard", "a.b", "--"] + Self.abusing(bus.path), address: bus.address)
    result.expect(0, output: "1\nended\n")
    #expect(try observer.output.line() == "a.didB")
  }

  @Test(
    "any byte after the last frame ends the connection, and has no other effect",
    arguments: [true, false])
  func behind(isTogether: Bool) throws {
    let bus = try TestBus()
    let observer = try RawClient.observing("forged.**", on: bus)
    let holder = try RawClient.greeted(bus)
    try holder.send(Hold(), serial: 1, name: "c.shouldD", text: "why")
    let last = RawClient.bytes {
      $0.appendFrame(Hold(isLast: true), serial: 2, name: "a.shouldB", text: "why")
    }
    try holder.send(isTogether ? last + Self.forged : last)
    for serial in 1...Serial(2) { #expect(try holder.next(.ok).header.serial == serial) }
    if !isTogether {
      for name in ["a.shouldB", "c.shouldD"] { #expect(try bus.tribunectl("ask", name).status == 1) }
      try holder.send([0])
    }
    try holder.expectClosed(with: .afterLast)
    for name in ["a.shouldB", "c.shouldD"] { #expect(try bus.tribunectl("ask", name).status == 0) }
    try observer.expectSilence()
  }

  @Test(
    "the connection takes no more frames, even after the last hold expired, and after restarts",
    arguments: RestartedBus.Way.allCases)
  func expired(way: RestartedBus.Way) throws {
    let bus = try RestartedBus()
    let holder = try RawClient.greeted(bus)
    try holder.sendConfirmed(Observe(), serial: 1, name: "a.didB")
    try holder.sendConfirmed(
      Hold(expiry: SystemClock.monotonicNanoseconds + 200_000_000, isLast: true), serial: 2,
      name: "a.shouldB",
      text: "why")
    #expect(try holder.next(.ended).header.serial == 2)
    // The first log may still have the hold's frame.
    for _ in 0..<2 { try bus.restart(way) }
    try RawClient.greeted(bus).post("a.didB", bytes: [], serial: 1)
    #expect(try holder.next(.post).name == "a.didB")
    try holder.send(Observe(), serial: 3, name: "a.didC")
    try holder.expectClosed(with: .afterLast)
  }

  @Test("a refused hold is not the last frame")
  func refused() throws {
    let bus = try TestBus()
    let holder = try RawClient.greeted(bus)
    try holder.send(Hold(isLast: true), serial: 1, name: "a.shouldB")
    #expect(try holder.nextError() == .invalidValue)
    try holder.sendConfirmed(Hold(), serial: 1, name: "a.shouldB", text: "why")
    try holder.send(Hold(isLast: true), serial: 1, name: "a.shouldB", text: "why")
    #expect(try holder.nextError() == .duplicateSerial)
    try holder.sendConfirmed(Post(), serial: 2, name: "a.didB")
  }
}
