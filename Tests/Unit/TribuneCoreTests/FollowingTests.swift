// SPDX-License-Identifier: Apache-2.0

import Testing
import TribunePolicy
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore

@Suite("Followers of holds and delegates", .timeLimit(.minutes(15)))
struct FollowingTests {
  private let bus = BusUnderTest()

  private static let ann: UInt32 = 1001
  private static let owner: UInt32 = 7

  private static let observing = "allow observe tribune.** user:*"

  /// Ann observes announcements and is bound by the lines; the owner may do everything.
  private func connect(_ lines: [String]) -> (ann: ConnectionSlot, owner: ConnectionSlot) {
    let rules = AccessRules.policy(Policy(text: lines + [Self.observing]), exempt: [Self.owner])
    bus.happen { $0.apply(rules, at: bus.now) }
    let (ann, owner) = (bus.connect(uid: Self.ann), bus.connect(uid: Self.owner))
    for slot in [ann, owner] {
      for (serial, pattern) in ["tribune.hold.*", "tribune.delegate.*"].enumerated() {
        bus.observe(pattern, by: slot, serial: Serial(serial + 1))
      }
    }
    _ = bus.take()
    return (ann, owner)
  }

  private func announced(_ body: () -> Void) throws -> [[String]] {
    var announcements: [Announcement] = []
    bus.onEffect = { if case .announcement(let announcement) = $0 { announcements.append(announcement) } }
    body()
    bus.onEffect = nil
    func receivers(_ name: String, _ object: String) throws(WireError) -> [Receiver] {
      let key = ByteBuffer(holding: Array((name + object).utf8))
      return try bus.bus.receivers(of: key.bytes, nameLength: name.utf8.count, from: nil).receivers
    }
    return try announcements.map { announcement throws(WireError) in
      switch announcement {
      case .didTake(let hold), .didChange(let hold), .didRelease(let hold, _):
        return bus.bus.followers(
          of: hold.pattern, object: hold.object, by: hold.connection,
          among: try receivers("tribune.hold.didTake", hold.object)
        )
        .map { "\($0.slot.letter): \(hold.pattern)" }
      case .didAttach(let delegate), .didDetach(let delegate):
        let object = delegate.object
        return bus.bus.followers(of: delegate, among: try receivers("tribune.delegate.didAttach", object))
          .flatMap { entry, receivers in
            receivers.map { "\($0.slot.letter): \(entry.patterns.joined(separator: ", "))" }
          }
          .sorted()
      default: return []
      }
    }
  }

  private static let holdCases: [(lines: [String], pattern: String, object: String, isSeen: Bool)] = [
    ([], "a.shouldB", "", false),
    (["allow list a.* user:ann"], "a.shouldB", "", true), (["allow list a.shouldB user:ann"], "**", "", true),
    (["allow list b.* user:ann"], "a.*", "", false), (["allow list a.* user:bob"], "a.*", "", false),
    (["allow list a.* user:*", "deny list a.shouldB user:ann"], "a.*", "", true),
    (["allow list a.* user:*", "deny list a.shouldB user:ann"], "a.shouldB", "", false),
    // Asking suffices: a verdict names the holds.
    (["allow ask a.shouldB user:ann"], "a.shouldB", "", true),
    (["allow ask a.shouldB user:ann"], "**", "", true),
    (["allow ask a.shouldC user:ann"], "a.shouldB", "", false),
    (["allow ask a.** user:*", "deny ask a.shouldB user:ann"], "a.*", "", true),
    (["allow ask a.** user:*", "deny ask a.shouldB user:ann"], "a.shouldB", "", false),
    (["allow ask a.** object:o user:*"], "a.shouldB", "o", true),
    (["allow ask a.** object:o user:*"], "a.shouldB", "p", false),
    (["allow ask a.** object:o user:*"], "a.shouldB", "", true),
    (["allow observe,post,retain,delegate,hold,override ** user:ann"], "a.shouldB", "", false),
    (["allow list a.* user:*", "deny observe tribune.hold.* user:ann"], "a.shouldB", "", false),
    (["allow list a.* user:*", "deny observe tribune.hold.* object:o user:ann"], "a.shouldB", "o", false),
    (["allow list a.* user:*", "deny observe tribune.hold.* object:o user:ann"], "a.shouldB", "p", true),
  ]

  @Test("An observer learns of holds if it may list or ask a part of their pattern", arguments: holdCases)
  func holds(lines: [String], pattern: String, object: String, isSeen: Bool) throws {
    let (_, owner) = connect(lines)
    let seen = (isSeen ? ["A: \(pattern)"] : []) + ["B: \(pattern)"]
    let news = try announced {
      bus.hold(pattern, object: object, by: owner, serial: 5)
      bus.cancel(5, by: owner)
    }
    #expect(news == [seen, seen])
  }

  private static let delegateCases: [(lines: [String], seen: [String])] = [
    ([], []), (["allow list a.x user:ann"], ["a.*"]), (["allow ask b.c user:ann"], ["b.c"]),
    (["allow list a.x user:ann", "allow ask b.c user:ann"], ["a.*", "b.c"]),
    (["allow list,ask ** user:ann", "deny list,ask a.* user:ann"], ["b.c"]),
    (["allow list ** user:ann", "deny ask a.* user:ann"], ["a.*", "b.c"]),
    (["allow ask ** object:p user:ann"], []), (["allow observe,delegate,set ** user:ann"], []),
  ]

  @Test(
    "An observer learns of a delegate's patterns if it may list or ask a part of them",
    arguments: delegateCases
  )
  func delegates(lines: [String], seen: [String]) throws {
    let (_, owner) = connect(lines)
    let lines = (seen.isEmpty ? [] : ["A: \(seen.joined(separator: ", "))"]) + ["B: a.*, b.c"]
    let news = try announced {
      bus.attach(["a.*", "b.c"], to: "o", by: owner, serial: 5)
      bus.cancel(5, by: owner)
    }
    #expect(news == [lines, lines])
  }

  @Test("A connection always learns of its own holds and delegates, but not of its user's other connections")
  func own() throws {
    let (ann, _) = connect(["allow hold,delegate ** user:ann"])
    bus.observe("tribune.hold.*", by: bus.connect(uid: Self.ann), serial: 1)
    let news = try announced {
      bus.hold("a.shouldB", by: ann, serial: 5)
      bus.attach(["a.shouldB"], by: ann, serial: 6)
    }
    #expect(news == [["A: a.shouldB", "B: a.shouldB"], ["A: a.shouldB", "B: a.shouldB"]])
  }

  @Test("Connections of one user learn according to their own unit and groups")
  func subjects() throws {
    let (_, owner) = connect(["allow list a.* unit:one.service", "allow list b.c group:5"])
    for (unit, gid) in [("one.service", 6), ("two.service", 5), ("one.service", 5)] as [(String, UInt32)] {
      let slot = bus.connect(uid: Self.ann, gid: gid, units: PeerUnits(system: unit))
      bus.observe("tribune.delegate.*", by: slot, serial: 1)
    }
    let news = try announced { bus.attach(["a.*", "b.c"], by: owner, serial: 5) }
    #expect(news == [["B: a.*, b.c", "C: a.*", "D: b.c", "E: a.*, b.c"]])
  }

  @Test("A reload decides again who learns of them")
  func reloading() throws {
    let (_, owner) = connect(["allow list ** user:ann"])
    let take = { bus.hold("a.shouldB", by: owner, serial: 5) }
    #expect(try announced(take) == [["A: a.shouldB", "B: a.shouldB"]])
    let rules = AccessRules.policy(Policy(text: [Self.observing]), exempt: [Self.owner])
    bus.happen { $0.apply(rules, at: bus.now) }
    #expect(try announced { bus.cancel(5, by: owner) } == [["B: a.shouldB"]])
  }
}
