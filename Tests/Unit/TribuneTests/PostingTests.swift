// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TribuneSystem
import TribuneWire

@testable import Tribune

@Suite(.timeLimit(.minutes(15)))
struct PostingTests {
  @Test(arguments: [
    (Tribune.PostOptions(), Post()),
    (.init(style: .asap), Post(style: .asSoonAsPossible)),
    (.init(style: .idle, coalescing: .name), Post(options: .coalesceByName, style: .whenIdle)),
    (.init(coalescing: .object), Post(options: .coalesceByObject)),
    (.init(coalescing: [.name, .object]), Post(options: .coalescing)),
    (.init(isRetained: true), Post(options: .retain)),
    (.init(isImmediate: true), Post(options: .immediately)),
    (
      .init(style: .asap, coalescing: [.name], isRetained: true, isImmediate: true),
      Post(options: [.coalesceByName, .retain, .immediately], style: .asSoonAsPossible)
    ),
  ])
  func theOptionsOfAPostReachTheBus(options: Tribune.PostOptions, fields: Post) async throws {
    let lengths = try await conversation { peer in
      let plain = try peer.next(.post)
      #expect(try plain.decode(Post.self) == fields)
      let acknowledged = try peer.next(.post)
      #expect(try acknowledged.decode(Post.self) == fields)
      #expect(acknowledged.header.flags == .acknowledge)
      try peer.send(Okay(), serial: acknowledged.serial)
      return [plain.header.fieldsLength, acknowledged.header.fieldsLength]
    } client: { connection in
      try await connection.post("a.b", options: options)
      try await connection.postAcknowledged("a.b", options: options)
    }
    let length = options == .init() ? 0 : 10
    #expect(lengths == [length, length])
  }

  @Test(arguments: [
    ("", "", TribuneError.Code.invalidName),
    ("a..b", "", .invalidName),
    ("a b", "", .invalidName),
    (String(repeating: "x", count: 256), "", .invalidName),
    ("tribune.connected", "", .reservedName),
    ("a", "line\nbreak", .invalidObject),
    ("a", String(repeating: "x", count: 256), .invalidObject),
  ])
  func invalidNamesAndObjectsAreNotSent(name: String, object: String, code: TribuneError.Code) async throws {
    try await expectSilence { connection in
      #expect(await failure { try await connection.post(name, object: object) }?.code == code)
      #expect(await failure { try await connection.postAcknowledged(name, object: object) }?.code == code)
      #expect(await failure { try await connection.postAwaited(name, object: object) }?.code == code)
      #expect(await failure { try await connection.ask(name, object: object) }?.code == code)
    }
  }

  @Test(arguments: [[], .descriptors] as [Hello.Capabilities])
  func userInfoOverTheBusesLimitIsNotSent(capabilities: Hello.Capabilities) async throws {
    try await conversation(payloadMax: 70_000, capabilities: capabilities) { peer in
      let post = try peer.next(.post)
      if capabilities == [] {
        #expect(post.header.payloadLength == 70_000)
      } else {
        _ = try peer.takeFile(length: 70_000)
      }
      #expect(!peer.hasDescriptors)
    } client: { connection in
      let long = UserInfo(repeatElement(UInt8(ascii: "x"), count: 70_001))
      #expect(await failure { try await connection.post("a", userInfo: long) }?.code == .payloadTooLong)
      #expect(
        await failure { try await connection.postAcknowledged("a", userInfo: long) }?.code == .payloadTooLong)
      #expect(await failure { try await connection.ask("a", userInfo: long) }?.code == .payloadTooLong)
      try await connection.post("a", userInfo: UserInfo(long.bytes.dropLast()))
    }
  }

  @Test func theReplyToAnAwaitedPostNamesTheObserversThatAreNotDone() async throws {
    let posted = try await conversation { peer in
      let post = try peer.next(.post)
      #expect([post.name, post.object, post.payload] == ["disk.willUnmount", "disk/1", "{}"])
      #expect(post.header.flags == [])
      let failures: [(ObserverFailure, String)] = [(.timedOut, ""), (.gone, ""), (.failed, "no room")]
      let missing = failures.enumerated().map { place, failure in
        MissingObserver(
          connection: ConnectionID(rawValue: UInt64(place + 3)), peer: identity(0, "").peer,
          failure: failure.0, reason: failure.1, elapsed: place == 0 ? .max : 1500)
      }
      try peer.send(Awaited(acknowledged: 4, missing: missing), serial: post.serial)
      return try post.decode(Post.self)
    } client: { connection in
      let reply = try await connection.postAwaited(
        "disk.willUnmount", object: "disk/1", userInfo: "{}", deadline: .seconds(2.5), isRetained: true)
      #expect(reply.acknowledged == 4)
      #expect(reply.missing.map(\.connection) == [":3", ":4", ":5"])
      #expect(reply.missing.map(\.kind) == [.timedOut, .gone, .failed])
      #expect(reply.missing.first?.elapsed == .microseconds(Int64.max))
      #expect(
        reply.missing.last
          == .init(
            connection: ":5", pid: 100, uid: 1000, process: "editor", units: Units(system: "editor.service"),
            kind: .failed,
            reason: "no room", elapsed: .microseconds(1500)))
    }
    #expect(posted == Post(options: [.awaited, .retain], deadline: 2500))
  }

  @Test func aWrongReplyToAnAwaitedPostIsThrown() async throws {
    try await conversation { peer in
      try peer.send(Okay(), serial: try peer.next(.post).serial)
    } client: { connection in
      #expect(await failure { try await connection.postAwaited("a.willB") }?.code == .protocolViolation)
    }
  }

  @Test func postsOfManyTasksArriveInEachTasksOrder() async throws {
    let received = try await conversation { peer in
      var received: [String: [Int]] = [:]
      while let frame = try peer.nextIfAny() {
        received[frame.name, default: []].append(Int(frame.payload) ?? -1)
      }
      return received
    } client: { connection in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<4 {
          group.addTask {
            for number in 0..<3000 {
              try await connection.post("task.\(task)", userInfo: UserInfo("\(number)"))
            }
          }
        }
        try await group.waitForAll()
      }
    }
    for task in 0..<4 { #expect(received["task.\(task)"] == Array(0..<3000)) }
  }

  @Test func postingWaitsForABusThatDoesNotRead() async throws {
    let gate = Gate()
    let names = try await conversation { peer in
      gate.wait()
      var names: [String] = []
      while let frame = try peer.nextIfAny() { names.append(frame.name) }
      return names
    } client: { connection in
      try await connection.fillUp()
      #expect(connection.unwritten > Outbox.highMark)
      let cancelled = Task { await failure { try await connection.post("cancelled") } }
      cancelled.cancel()
      #expect(await cancelled.value?.code == .cancelled)

      let waiting = Task { try await connection.post("waited") }
      gate.open()
      try await waiting.value
    }
    #expect(names == ["filler", "filler", "waited"])
  }

  @Test func waitingForCapacityCountsAgainstTheDeadline() async throws {
    let gate = Gate()
    let left = try await conversation { peer in
      gate.wait()
      for _ in 0..<2 { _ = try peer.next(.post) }
      let ask = try peer.next(.ask)
      try peer.reply(to: ask)
      return try ask.decode(Ask.self).deadline
    } client: { connection in
      try await connection.fillUp()
      // An immediate task waits for capacity when it first suspends.
      let verdict = Task.immediate {
        try await connection.ask("a.waiting", userInfo: "{}", deadline: .seconds(60))
      }
      let late = Duration.milliseconds(20)
      #expect(
        await failure { try await connection.ask("a.late", userInfo: "{}", deadline: late) } == .notSentInTime
      )
      #expect(
        await failure { try await connection.postAwaited("a.late", userInfo: "{}", deadline: late) }
          == .notSentInTime)
      gate.open()
      #expect(try await verdict.value.isAllowed)
    }
    #expect(left <= 60_000 - 40 && left > 0)
  }

  @Test func theEndOfTheConnectionFailsCallsThatWaitForCapacity() async throws {
    let gate = Gate()
    try await conversation(busEndsFirst: true) { peer in
      gate.wait()
      try peer.send(Refusal(.shuttingDown), text: "good night")
    } client: { connection in
      try await connection.fillUp()
      let waiting = Task { await failure { try await connection.post("a") } }
      gate.open()
      #expect(await waiting.value == TribuneError(.shuttingDown, "good night"))
    }
  }

  @Test func closingGivesUpOnABusThatDoesNotRead() async throws {
    let gate = Gate()
    try await conversation(busEndsFirst: true) { peer in
      gate.wait()
    } client: { connection in
      try await connection.fillUp()
      _ = connection.link.state.withLock { $0.close(by: .now) }
      connection.link.wakeup.signal()
      #expect(await connection.closed() == nil)
      gate.open()
    }
  }
}

extension Connection {
  fileprivate var unwritten: Int { link.state.withLock { $0.outbox.unwritten } }

  /// Exceeds the high mark and the kernel's buffers.
  fileprivate func fillUp() async throws {
    let payload = UserInfo(repeatElement(0, count: 900_000))
    for _ in 0..<2 { try await post("filler", userInfo: payload) }
  }
}
