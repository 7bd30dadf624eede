// SPDX-License-Identifier: Apache-2.0

import CBusDriver

extension Catalogue {
  static func streamWorks(_ effort: Effort) -> [Work] {
    [
      Work(
        name: "stream-1", title: "Notifications 1 → 1, 128 B",
        note: "One connection sends as fast as it goes, in writes of 64 KiB, until one receiver has all.",
        unit: .messagesPerSecond, subjects: Subject.servers, baseline: .tribune, turns: effort.rateTurns,
        targets: [lead(3, "notifications 1 → 1, 128 B")],
        measure: .stream(of: Int(driver_stream_bytes), to: 1, worth: 1)),
      Work(
        name: "stream-10", title: "Notifications 1 → 10, 128 B",
        note: "Likewise, until ten receivers have all. What counts is what was delivered.",
        unit: .messagesPerSecond, subjects: Subject.buses, baseline: .tribune, turns: effort.rateTurns,
        targets: [lead(4, "notifications 1 → 10, 128 B, delivered")],
        measure: .stream(of: Int(driver_stream_bytes), to: 10, worth: 10)),
      mixed(effort),
      large(effort),
    ]
  }

  private static func lead(_ times: Double, _ title: String) -> Target {
    Target(title: title, subject: .tribune, reference: .bestPeer, bound: .atLeast(times))
  }

  private static func mixed(_ effort: Effort) -> Work {
    let (clients, names) = (effort.mixedClients, effort.mixedNames)
    let title = "\(clients) posters, \(clients) observers, \(names) names"
    return Work(
      name: "mixed", title: title,
      note: """
        Each name has \(driver_mixed_fan_out) observers, and each poster posts all names in an order of its own. \
        One thread sends for all posters, and one receives for all observers. What counts is what was delivered.
        """,
      unit: .messagesPerSecond, subjects: Subject.buses, baseline: .tribune, turns: effort.rateTurns,
      targets: [lead(3, title + ", mixed")],
      measure: .rate(step: clients * 10, worth: Double(driver_mixed_fan_out)) { place, count in
        try Driver.mixed(count, clients: clients, names: names, through: place.server())
      })
  }

  private static func large(_ effort: Effort) -> Work {
    let bytes = 1 << 20
    return Work(
      name: "large", title: "1 MiB payload, 1 → 10",
      note: """
        Tribune hands on a sealed file in memory (memfd), which each receiver takes and may map; the others have no such way, \
        and copy. Every receiver compares a file when it first sees it, and then every 64th time: what is sealed \
        cannot change. Of what was copied it looks at a byte in each page, and compares every 64th message.
        """,
      unit: .bytesPerSecond, subjects: Subject.buses, baseline: .tribune, turns: effort.rateTurns,
      targets: [lead(10, "1 MiB payload 1 → 10 (memfd)")],
      measure: .stream(of: bytes, to: 10, worth: Double(10 * bytes)))
  }
}
