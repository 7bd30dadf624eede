// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
import TribuneTestSupport
import TribuneWire

/// The policy of the bus and its model.
extension Life {
  /// The group of odd processes of all users. It may not use names under `forbidden`, and may list
  /// only its own registrations under `lamp`.
  private static let limitedGroup = 7
  /// May replace its own delegates only, and hold what is about doors for 3 s.
  private static let limitedUser: UInt32 = 1001
  /// May register and retain nothing while the policy is strict.
  private static let strictUser: UInt32 = 1002

  static func policy(isStrict: Bool) -> Policy {
    let lines = [
      "allow * ** user:*", "allow hold door.** max=3s user:\(limitedUser)",
      "deny post,retain,ask,observe,list,delegate,hold forbidden.** group:\(limitedGroup)",
      "deny list lamp.** group:\(limitedGroup)", "deny set ** user:\(limitedUser)",
    ]
    let strict = "deny retain,observe,delegate,hold,declare,monitor ** user:\(strictUser)"
    var parser = PolicyParser(NameLookup(user: { _ in nil }, group: { _ in nil }))
    parser.read(Array((lines + (isStrict ? [strict] : [])).joined(separator: "\n").utf8), file: "policy")
    precondition(parser.diagnostics.isEmpty, "the policy is invalid: \(parser.diagnostics)")
    return Policy(parser.lines)
  }

  func mayNotRegister(_ link: Link) -> Bool { isStrict && isStrictUser(link) }

  func isStrictUser(_ link: Link) -> Bool { link.uid == Self.strictUser }

  /// Limits the new hold as the configuration and the policy do.
  ///
  /// `takenIn`: the bus took it in this time.
  func limit(_ hold: Registration, takenIn time: ClosedRange<UInt64>) {
    guard hold.isHold else { return }
    var limits: [UInt64] = []
    if let holdMax, Naming.overlap(hold.patterns[0], holdMax.name) { limits.append(holdMax.nanoseconds) }
    if hold.link.uid == Self.limitedUser, Naming.overlap(hold.patterns[0], "door.**") {
      limits.append(3_000_000_000)
    }
    guard let limit = limits.min() else { return }
    let wanted = hold.expiry?.lowerBound ?? .max
    hold.expiry = min(wanted, time.lowerBound + limit)...min(wanted, time.upperBound + limit)
  }

  /// The bus says that the hold expires then; 0 for never.
  func judge(expiry: UInt64, of hold: Registration) {
    guard hold.isHold else { return check(expiry == 0, "r\(hold.number) is no hold, and expires") }
    check(
      expiry == 0 ? hold.expiry == nil : hold.expiry?.contains(expiry) == true,
      "the hold r\(hold.number) expires at \(expiry), not in \(hold.expiry.map { "\($0)" } ?? "eternity")")
    hold.expiry = expiry == 0 ? nil : expiry...expiry
  }

  private func isLimited(_ link: Link) -> Bool { link.pid % 2 == 1 }

  func mayUse(_ name: String, _ link: Link) -> Bool { name != Naming.forbidden || !isLimited(link) }

  /// What a delegate or hold of the link may match.
  func patternToAnswer(_ link: Link) -> String {
    random.pick(Naming.queryPatterns.filter { !isLimited(link) || !Naming.overlap($0, "forbidden.**") })
  }

  func nameToPost(_ link: Link) -> String { random.pick(Naming.names.filter { mayUse($0, link) }) }

  func mayReplace(_ other: Registration, by link: Link) -> Bool {
    link.uid != Self.limitedUser || other.link.uid == link.uid
  }

  /// A bus has applied the policy: forbidden registrations have ended, and their buffered notifications are dropped.
  ///
  /// `isCertain`: false if the bus has died since.
  func endForbidden(isCertain: Bool) {
    taken += 1
    for link in known where mayNotRegister(link) {
      for registration in link.registrations
      where registration.certainty != .gone && !registration.isAction && !registration.isWaiting {
        registration.mayBeEndedByPolicy = true
        if isCertain { forget(registration) } else { registration.certainty = .possible }
      }
      // The bus drops the client's buffer. It may have lost some of it earlier for lack of space.
      for index in link.expected.indices where link.isSuspended == nil || link.expected[index].isBuffered {
        link.expected[index].certainty = .possible
      }
    }
    retainedOrReplaced.removeAll { mayNotRegister($0.link) || mayNotRegister($0.displaced[0].link) }
    if !isCertain { possiblyRetained += retained.filter { mayNotRegister($0.link) } }
    retained.removeAll { mayNotRegister($0.link) }
    if isCertain { possiblyRetained.removeAll { mayNotRegister($0.link) } }
  }

  func forbiddenMessage(_ link: Link) {
    guard isLimited(link) else { return }
    // With many names, some take the place of another name's cached route.
    let last = random.pick(["shouldOpen", "state", "state\(Int.random(in: 0..<256, using: &random))"])
    let name = "forbidden.\(last)"
    let object = random.pick(Naming.objects)
    let which = Int.random(in: 0..<8, using: &random)
    refuse(link, .notPermitted) { buffer, serial in
      switch which {
      case 0: buffer.appendFrame(Post(), serial: serial, name: name, object: object)
      case 1: buffer.appendFrame(Post(), flags: .acknowledge, serial: serial, name: name, object: object)
      case 2:
        buffer.appendFrame(Post(options: .retain), serial: serial, name: name, object: object, text: "1")
      case 3: buffer.appendFrame(Ask(), serial: serial, name: name, object: object)
      case 4:
        buffer.appendFrame(Observe(options: .awaited), serial: serial, name: "forbidden.*", object: object)
      case 5:
        buffer.appendFrame(
          Attach(
            order: 0, failurePolicy: .veto, timeout: 0, label: "", patterns: ["**"], isSet: false,
            protocols: []), serial: serial)
      case 6: buffer.appendFrame(Hold(), serial: serial, name: "**", object: object, text: "why")
      default: buffer.appendFrame(List(.chain), serial: serial, name: name, object: object)
      }
    }
  }
}
