// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
import TribuneTestSupport
import TribuneWire

/// The model of the bus's own notifications: who may hear of a hold, delegate or query, and what they say.
///
/// A slow observer loses announcements at once, so none of them is expected.
extension Life {
  private static let patterns = ["tribune.**", "tribune.hold.*", "tribune.delegate.*", "tribune.query.*"]

  /// An announcement that a suspended client receives at once would deliver its buffered notifications too.
  func follow(_ link: Link) {
    observe(
      link, random.pick(Self.patterns), random.pick(Naming.objects), random.pick([.drop, .coalesce, .hold]),
      false, snapshot: false)
  }

  func announcement(_ frame: FrameView, _ link: Link) {
    let (name, object) = (String(repairing: frame.name), String(repairing: frame.object))
    tell("  which is \(name) \"\(object)\"")
    check(frame.header.sender == .bus, "\(name) is announced by \(frame.header.sender)")
    check(
      link.registrations.contains { $0.follows && $0.isFor(name, object) },
      "link \(link.number) is told of \(name) \"\(object)\", and does not observe it")
    let document: JSONDocument
    do throws(JSONText.SyntaxError) {
      document = try JSONDocument(frame.payload)
    } catch {
      return violate("\(name) has no JSON: \(error)")
    }
    judge(document.root, name, object, link)
  }

  private func judge(_ userInfo: JSONNode, _ name: String, _ object: String, _ link: Link) {
    if name.hasPrefix("tribune.hold.") {
      let why = userInfo["why"]?.string ?? ""
      let hold = known.flatMap(\.registrations).first { $0.isHold && $0.mayHaveHad(why) }
      guard let hold else { return violate("\(name) is about \(why), which nobody holds") }
      check(
        hold.object == object && [userInfo["pattern"]?.string] == hold.patterns.map(Naming.listed),
        "\(name) is not about r\(hold.number) as it was taken")
      check(
        mayFollow(hold.patterns[0], of: hold, link), "link \(link.number) may not hear of r\(hold.number)")
    } else if name.hasPrefix("tribune.delegate.") {
      let label = userInfo["label"]?.string ?? ""
      let delegate = known.flatMap(\.registrations).first { $0.isDelegate && $0.label == label }
      guard let delegate else { return violate("\(name) is about \(label), which is no delegate") }
      let shown = userInfo["respondsTo"]
      let patterns = (0..<(shown?.count ?? 0)).compactMap { shown?[$0]?.string }
      check(
        delegate.object == object && !patterns.isEmpty && Set(patterns).isSubset(of: delegate.patterns),
        "\(name) is not about \(label) as it was attached")
      check(
        patterns.allSatisfy { mayFollow($0, of: delegate, link) },
        "link \(link.number) may not hear of \(patterns) of \(label)")
    } else if name == "tribune.query.didConclude", userInfo["verdict"]?.string == "vetoed",
      let id = userInfo["query"]?.integer, let query = queryIDs[UInt64(id) | link.epoch << 48],
      !query.mode.isForValues
    {
      let count = userInfo["vetoCount"]?.integer ?? 0
      check(
        count >= query.holds.count,
        "query \(query.number) met \(query.holds.count) holds, and \(count) vetoes are announced")
    }
  }

  private func mayFollow(_ pattern: String, of registration: Registration, _ link: Link) -> Bool {
    registration.link === link || !pattern.hasPrefix("forbidden.") || mayUse(Naming.forbidden, link)
  }
}
