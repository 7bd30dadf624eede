// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneWire

@Suite("Exhaustion", .timeLimit(.minutes(15)))
struct ExhaustionTests {
  @Test("a thousand silent connections are closed in time, and take little memory until then")
  func silentConnections() throws {
    let bus = try TestBus(configuration: "[Bus]\nHelloTimeoutSec=2s\n")
    let before = try bus.privateMemory()
    let silent = try (0..<1000).map { _ in try RawClient(bus) }
    let other = try RawClient.greeted(bus)
    try other.settle()
    #expect(try bus.privateMemory() - before < 4 * 1000)
    for client in silent {
      _ = try client.readHello()
      #expect(try client.nextError() == .helloTimeout)
    }
    try other.settle()
  }

  @Test("idle connections hold no buffer")
  func idleConnections() throws {
    let bus = try TestBus()
    let warm = try RawClient.greeted(bus)
    try warm.settle()
    let before = try bus.privateMemory()
    let idle = try (0..<1000).map { _ in try RawClient.greeted(bus) }
    for (index, client) in idle.enumerated() { try client.settle(serial: Serial(index)) }
    #expect(try bus.privateMemory() - before < 4 * 1000)
  }

  @Test("a monitor that does not read learns how much it lost, and the bus stores none of that")
  func slowMonitor() throws {
    let bus = try TestBus(configuration: "[Queue]\nLowMark=16K\nHighMark=64K\n")
    let poster = try RawClient.greeted(bus)
    let (monitor, welcome) = try RawClient.welcomed(bus)
    try monitor.sendConfirmed(Monitor(), serial: 1, name: "load.*")
    let before = try bus.privateMemory()
    let stream = PostStream(poster, length: 50_000)
    for _ in 0..<20 {
      try stream.post(20)
      try poster.settle()
    }
    #expect(try bus.privateMemory() - before < 8 * 1024)
    let entry = try #require(try poster.entry(of: welcome.connection))
    #expect(entry.isLossy)
    var (seen, lost) = (0, 0)
    while seen + lost < stream.posted {
      let frame = try monitor.next()
      if frame.kind == .traffic { seen += 1 }
      if frame.kind == .lost { lost += Int(try frame.decode(Lost.self).count) }
    }
    #expect(seen + lost == stream.posted)
    #expect(lost > 0 && lost == Int(entry.lost))
  }

  @Test("a connection over the limit is refused with that reason")
  func connectionLimit() throws {
    let bus = try TestBus(configuration: "[Bus]\nConnectionsMax=2\n")
    let first = try RawClient.greeted(bus)
    let second = try RawClient.greeted(bus)
    let third = try RawClient(bus)
    _ = try third.readHello()
    let refusal = try third.next(.error)
    #expect(try refusal.decode(Refusal.self).code == .tooManyConnections)
    #expect(
      refusal.payload
        == "user 0 has 2, and its share is 2 of 2 connections (ConnectionsMax=); user 0 has most, 2")
    #expect(try third.readToEnd().isEmpty)
    try first.settle()
    try second.settle()
  }

  @Test("without free descriptors, the bus stops accepting, logs that, and resumes later")
  func outOfDescriptors() throws {
    let bus = try TestBus(wrapper: ["/usr/bin/prlimit", "--nofile=24:24"])
    let first = try RawClient.greeted(bus)
    var others = try (0..<40).map { _ in try RawClient(bus) }
    for client in others { try client.send { Hello().append(to: $0) } }
    try first.settle()
    #expect(try bus.log().contains("no new connections for now"))
    let last = others.removeLast()
    others.removeAll()
    _ = try last.readHello()
    #expect(try last.next().kind == .welcome)
    try last.settle()
    try first.settle()
    // If that took the last free descriptor, the bus logs the end of the pause at the next connection.
    let next = try RawClient.greeted(bus)
    #expect(try bus.log().contains("accepting connections again"))
    withExtendedLifetime(next) {}
  }

  @Test("a delegate that defers without end does not close an asker that does not read")
  func endlessDeferrals() throws {
    let bus = try TestBus(configuration: "[Queue]\nLowMark=16K\nHighMark=64K\nHardLimit=1M\n")
    let (asker, delegate) = (try RawClient.greeted(bus), try RawClient.greeted(bus))
    try delegate.attach(Attach(patterns: ["a.shouldB"]), serial: 1)
    try asker.send(Ask(), serial: 1, name: "a.shouldB")
    let question = try delegate.nextQuestion().question
    let status = String(repeating: "?", count: WireLimits.reasonLength)
    // Ten times the asker's queue.
    for serial in 2..<2562 {
      try delegate.send(
        Defer(query: question.query, delegate: question.delegate, extension: 60_000), serial: Serial(serial),
        text: status)
    }
    try delegate.settle(serial: 5000)
    try delegate.answer(question, .approve)
    #expect(try asker.nextVerdict().verdict == .allowed)
  }

  @Test("questions with more userInfo than a delegate's queue may hold fail, and the delegate stays")
  func questionsOverTheLimit() throws {
    let bus = try TestBus(
      configuration: "[Bus]\nPayloadMax=64K\n[Queue]\nLowMark=16K\nHighMark=64K\nHardLimit=1M\n")
    let (asker, delegate) = (try RawClient.greeted(bus), try RawClient.greeted(bus))
    let count = 40
    for index in 1...count {
      try delegate.attach(Attach(label: "\(index)", patterns: ["a.shouldB"]), serial: Serial(index))
    }
    // 2.5 times the queue of the delegate, which does not read.
    let userInfo = String(repeating: " ", count: 65_536)
    try asker.send(Ask(mode: .all), serial: 1, name: "a.shouldB", text: userInfo)
    try asker.settle()
    var arrived = 0
    try delegate.send(List(.bus), serial: 5000)
    while true {
      let frame = try delegate.next()
      if frame.kind == .ok { break }
      guard frame.kind == .question else { continue }
      try delegate.answer(frame.decode(Question.self), .approve)
      arrived += 1
    }
    let verdict = try asker.nextVerdict()
    #expect(verdict.outcomes.count == count)
    #expect(verdict.outcomes.count { $0.outcome == .approved } == arrived)
    #expect(verdict.outcomes.count { $0.outcome == .failed } == count - arrived)
    #expect(arrived < 20)
    for _ in 0..<arrived { #expect(try delegate.nextConclusion() == .vetoed) }
    try delegate.expectSilence()
  }

  @Test("a notification is buffered once for all suspended observers")
  func bufferedOnce() throws {
    let bus = try TestBus()
    let observers = try (0..<100).map { _ in try RawClient.greeted(bus) }
    for observer in observers {
      try observer.observe("a.b", serial: 1)
      try observer.send(Suspend(isSuspended: true), serial: 2)
      #expect(try observer.next().kind == .ok)
    }
    let before = try bus.privateMemory()
    let poster = try RawClient.greeted(bus)
    try poster.send(
      Post(), serial: 1, flags: .acknowledge, name: "a.b", text: String(repeating: " ", count: 1_000_000))
    #expect(try poster.next().kind == .ok)
    #expect(try bus.privateMemory() - before < 16 * 1024)
    for observer in observers {
      try observer.send(Suspend(isSuspended: false), serial: 3)
      #expect(try observer.next(.post).payload.count == 1_000_000)
    }
  }

  @Test("a client that never reads its verdicts is closed, and the log has the reason")
  func asksWithoutReading() throws {
    let bus = try TestBus(configuration: "[Queue]\nHighMark=64K\nLowMark=16K\nHardLimit=256K\n")
    let other = try RawClient.greeted(bus)
    let deaf = try RawClient.greeted(bus)
    let ask = RawClient.bytes { $0.appendFrame(Ask(), serial: 1, name: "a.shouldB") }
    let asks = [UInt8](repeatElement(ask, count: 500).joined())
    let before = try bus.privateMemory()
    #expect(throws: (any Error).self) {
      while true { try deaf.send(asks) }
    }
    #expect(try bus.privateMemory() - before < 4096)
    #expect(try bus.log().contains("unread bytes exceed the limit"))
    try other.settle()
  }

  @Test("the replies to one read are also bounded")
  func listsInOneRead() throws {
    let bus = try TestBus(configuration: "[Queue]\nHighMark=64K\nLowMark=16K\nHardLimit=1M\n")
    let other = try RawClient.greeted(bus)
    let name = String(repeating: "n", count: 200)
    for serial in 1...1000 { try other.observe("\(name).x\(serial)", serial: Serial(serial)) }
    let (greedy, welcome) = try RawClient.welcomed(bus)
    try greedy.settle()
    let before = try bus.processStatus("VmHWM")
    try greedy.send {
      for serial in 1...500 { $0.appendFrame(List(.observations), serial: Serial(serial)) }
    }
    // A client that reads meanwhile may be fast enough.
    while try other.entry(of: welcome.connection) != nil {}
    try greedy.expectClosed(with: .tooSlow)
    #expect(try bus.processStatus("VmHWM") - before < 8 * 1024)
    try other.settle()
  }

  @Test("the bus lists nothing for a departed client")
  func listsForNobody() throws {
    let bus = try TestBus(configuration: "[Queue]\nHighMark=64K\nLowMark=16K\nHardLimit=1M\n")
    let other = try RawClient.greeted(bus)
    for serial in 1...4096 { try other.observe("n.x\(serial)", serial: Serial(serial)) }
    var gone: RawClient? = try RawClient.greeted(bus)
    try gone?.settle()
    let before = try bus.processorTicks()
    try bus.freeze()
    try gone?.send {
      for serial in 1...1500 { $0.appendFrame(List(.observations), serial: Serial(serial)) }
    }
    gone = nil
    bus.signal(SIGCONT)
    try other.settle()
    // A full list costs over a hundred.
    #expect(try bus.processorTicks() - before < 40)
  }
}
