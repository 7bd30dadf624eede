// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneSystem
import TribuneWire

@testable import Tribune

/// What a client has registered with a bus that is gone, with the next.
@Suite(.timeLimit(.minutes(15)))
struct RenewalTests {
  @Test func everythingThatIsRegisteredIsRegisteredAgain() async throws {
    let bus = try ScriptedBus()
    let script: Playing<[[String]]> = try bus.play { peer in
      try peer.greet()
      var before: [Serial] = []
      var kinds: [String] = []
      for kind in [FrameKind.observe, .declare, .attach, .hold, .monitor] {
        let frame = try peer.next(kind)
        try peer.confirm(frame, as: 40)
        before.append(frame.serial)
        kinds.append("\(kind) \(frame.name) \(frame.object)")
      }
      try peer.confirm(try peer.next(.suspend))
      peer.close()

      let next = try bus.accept()
      try next.greet(as: 8)
      try next.confirm(try next.next(.suspend))
      var after: [Serial] = []
      var again: [String] = []
      for kind in [FrameKind.observe, .declare, .attach, .hold, .monitor] {
        let frame = try next.next(kind)
        try next.confirm(frame, as: 50)
        after.append(frame.serial)
        again.append("\(kind) \(frame.name) \(frame.object)")
      }
      #expect(after == before)
      try next.confirmSuccession(of: 7, received: 0)
      try next.readToEnd()
      return [kinds, again]
    }
    let events = Events()
    let connection = try await connect(to: bus, events)
    let delegate = Hesitant()
    let notifications = try await connection.observe("a.*", object: "b", suspension: .hold)
    try await connection.declare("b", as: "P")
    let attachment = try await connection.attach(delegate, to: "b", respondingTo: ["a.should"])
    let hold = try await connection.hold("c.*", object: "d", why: "because")
    let traffic = try await connection.monitor(["e.*"])
    #expect([attachment.id, hold.id] == [40, 40])
    try await connection.suspend()
    #expect(await events.next() == "disconnected connectionLost")
    #expect(await events.next() == "reconnected 0")
    #expect(connection.id == ":8")
    #expect(connection.isSuspended)
    #expect([attachment.id, hold.id] == [50, 50])
    await connection.close()
    let told = try await script.value
    #expect(told[0] == told[1])
    withExtendedLifetime((notifications, traffic, delegate)) {}
  }

  @Test func whatIsRetainedComesOnceMore() async throws {
    let bus = try ScriptedBus()
    let script: Playing<Void> = try bus.play { peer in
      try peer.greet()
      for pass in 1...2 {
        let observe = try peer.next(.observe)
        try peer.retained(observe, "\(pass)")
        try peer.confirm(observe)
      }
      try peer.post("a.changed")
      try peer.confirmPost()
      peer.close()
      let next = try bus.accept()
      try next.greet(as: 8)
      for pass in 3...4 {
        let observe = try next.next(.observe)
        #expect(try observe.decode(Observe.self).options == .retained)
        try next.retained(observe, "\(pass)")
        try next.confirm(observe)
      }
      try next.confirmSuccession(of: 7, received: 3)
      try next.post("a.last")
      try next.readToEnd()
    }
    let connection = try await connect(to: bus)
    let notifications = try await connection.observe(anyOf: ["a.*", "b.*"], retained: true)
    try await connection.postAcknowledged("a.goOn")
    var iterator = notifications.makeAsyncIterator()
    var seen: [String] = []
    for _ in 0..<6 { seen.append(try await iterator.next()?.word ?? "end") }
    #expect(
      seen == [
        "a.kept 1 retained", "b.kept 2 retained", "a.changed", "a.kept 3 retained", "b.kept 4 retained",
        "a.last",
      ])
    await connection.close()
    try await script.value
  }

  @Test func aRegistrationThatWasUnderWayIsMade() async throws {
    let bus = try ScriptedBus()
    let script: Playing<Void> = try bus.play { peer in
      try peer.greet()
      let first = try peer.next(.hold)
      peer.close()
      let next = try bus.accept()
      try next.greet(as: 8)
      let hold = try next.next(.hold)
      #expect(hold.serial == first.serial)
      try next.confirm(hold, as: 9)
      try next.confirmSuccession(of: 7, received: 0)
      try next.readToEnd()
    }
    let events = Events()
    let connection = try await connect(to: bus, events)
    #expect(try await connection.hold("a.*", why: "because").id == 9)
    #expect(await events.next() == "disconnected connectionLost")
    #expect(await events.next() == "reconnected 0")
    await connection.close()
    try await script.value
  }

  @Test func aDelegateThatWasSetJoinsTheOthersTheNextTime() async throws {
    let bus = try ScriptedBus()
    let script: Playing<Void> = try bus.play { peer in
      try peer.greet()
      let attach = try peer.next(.attach)
      #expect(try attach.decode(Attach.self).isSet)
      try peer.confirm(attach, as: 3)
      peer.close()
      let next = try bus.accept()
      try next.greet(as: 8)
      let again = try next.next(.attach)
      var fields = try attach.decode(Attach.self)
      fields.isSet = false
      #expect(try again.decode(Attach.self) == fields)
      #expect(again.object == attach.object)
      #expect(again.serial == attach.serial)
      try next.confirm(again, as: 4)
      try next.confirmSuccession(of: 7, received: 0)
      try next.readToEnd()
    }
    let events = Events()
    let connection = try await connect(to: bus, events)
    let delegate = Hesitant()
    try await connection.set(delegate, to: "b", respondingTo: ["a.should"], order: 3, label: "it")
    #expect(await events.next() == "disconnected connectionLost")
    #expect(await events.next() == "reconnected 0")
    await connection.close()
    try await script.value
    withExtendedLifetime(delegate) {}
  }

  @Test func whatIsTakenBackMeanwhileIsNotRegisteredAgain() async throws {
    let bus = try ScriptedBus()
    let isReleased = Gate()
    let script: Playing<Void> = try bus.play { peer in
      try peer.greet()
      try peer.confirm(try peer.next(.hold), as: 3)
      try peer.confirm(try peer.next(.hold), as: 4)
      let cancel = try peer.next(.cancel)
      peer.close()
      let next = try bus.accept()
      try next.greet(as: 8)
      let hold = try next.next(.hold)
      #expect(try cancel.decode(Cancel.self).target != hold.serial)
      try next.confirm(hold, as: 5)
      try next.confirmSuccession(of: 7, received: 0)
      isReleased.wait()
      try next.readToEnd()
    }
    let connection = try await connect(to: bus)
    let hold = try await connection.hold("a.*", why: "because")
    let other = try await connection.hold("b.*", why: "because")
    // The bus is gone before it says that it has been, and comes back without it.
    try await hold.release()
    isReleased.open()
    #expect(other.id == 5)
    await connection.close()
    try await script.value
  }

  @Test func aHoldWhoseTimeIsOverMeanwhileHasExpired() async throws {
    let bus = try ScriptedBus()
    let isOver = Gate()
    let script: Playing<Void> = try bus.play { peer in
      try peer.greet()
      let hold = try peer.next(.hold)
      try peer.confirm(hold, as: 3)
      peer.close()
      let next = try bus.accept()
      try next.greet(as: 8)
      let again = try next.next(.hold)
      isOver.wait()
      #expect(try again.decode(TribuneWire.Hold.self).expiry <= SystemClock.monotonicNanoseconds)
      try next.send(Refusal(.invalidValue), serial: again.serial, text: "that is over")
      try next.confirmSuccession(of: 7, received: 0)
      try next.readToEnd()
    }
    let events = Events()
    let connection = try await connect(to: bus, events)
    let hold = try await connection.hold("a.*", why: "because", expiresIn: .milliseconds(50))
    #expect(await events.next() == "disconnected connectionLost")
    // A query that was asked later, and waits as long, fails later.
    #expect(await failure { try await connection.ask("a.late", deadline: .milliseconds(50)) } == .neverSent)
    isOver.open()
    #expect(await hold.expired())
    #expect(await events.next() == "reconnected 0")
    await connection.close()
    try await script.value
  }

  @Test func aBusThatRefusesWhatWasRegisteredEndsTheConnection() async throws {
    let bus = try ScriptedBus()
    let script: Playing<Void> = try bus.play { peer in
      try peer.greet()
      try peer.confirmObservation()
      try peer.confirm(try peer.next(.attach), as: 3)
      peer.close()
      let next = try bus.accept()
      try next.greet(as: 8)
      try next.confirmObservation()
      try next.send(Refusal(.notPermitted), serial: try next.next(.attach).serial, text: "not you")
      try next.readToEnd()
    }
    let connection = try await connect(to: bus)
    let delegate = Hesitant()
    var iterator = try await connection.observe("a.*").makeAsyncIterator()
    try await connection.attach(delegate, respondingTo: ["a.should"])
    let error = await connection.closed()
    #expect(error?.code == .notPermitted)
    #expect(error?.message.contains("not you") == true)
    #expect(await failure { try await iterator.next() } == error)
    #expect(connection.hasEnded)
    try await script.value
    withExtendedLifetime(delegate) {}
  }

  @Test func thousandsOfRegistrationsFollow() async throws {
    let bus = try ScriptedBus()
    let script: Playing<Int> = try bus.play { peer in
      try peer.greet()
      for _ in 0..<5000 { try peer.confirm(try peer.next(.hold), as: 1) }
      peer.close()
      let next = try bus.accept()
      try next.greet(as: 8)
      var serials: [Serial] = []
      for _ in 0..<5000 {
        let hold = try next.next(.hold)
        serials.append(hold.serial)
        try next.confirm(hold, as: 1)
      }
      #expect(serials == serials.sorted())
      try next.confirmSuccession(of: 7, received: 0)
      try next.readToEnd()
      return Set(serials).count
    }
    let events = Events()
    let connection = try await connect(to: bus, events)
    let why = String(repeating: "because ", count: 30)
    for number in 0..<5000 { try await connection.hold("a\(number).*", why: why) }
    #expect(await events.next() == "disconnected connectionLost")
    #expect(await events.next() == "reconnected 0")
    await connection.close()
    #expect(try await script.value == 5000)
  }
}
