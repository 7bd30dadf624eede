// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneServer
import TribuneTestSupport
import TribuneWire

extension Life {
  private func clearRetained() throws(Violation) {
    let seat = 0
    links[seat]?.close()
    links[seat] = nil
    guard let link = connect(seat, isHonest: true) else { throw fail("nobody can connect") }
    for name in Naming.names {
      for object in Set(Naming.objects) {
        let post = Posting(
          number: number(), link: link, name: name, object: object, style: .now, options: .retain,
          isEmpty: true)
        post.serial = post.serialOfItsOwn
        posts[post.number] = post
        link.compose(.post(post), serial: post.serial) {
          $0.appendFrame(Post(options: .retain), serial: post.serial, name: name, object: object)
        }
      }
    }
    try rest(isFinal: true)
  }

  func rest(isFinal: Bool) throws(Violation) {
    Kernel.liveOn()
    var quiet = 0
    var rounds = 0
    var alarms = 0
    let acknowledgesAll = random.oneIn(2)
    while quiet < 6 {
      rounds += 1
      try require(rounds < 3000, "the bus does not come to rest")
      let before = digest
      for link in links {
        if let link, link.isLimited, link.mustSendLimit || link.limit < link.receivedCount + 1_000 {
          link.grant(2_000)
        }
        link?.send()
      }
      let wasAway = bus == nil
      try iterate(faults: Faults())
      Kernel.turnKeeper()
      for seat in links.indices {
        links[seat]?.reads = true
        try read(seat, everything: true)
        while acknowledgesAll, let link = links[seat], link.isOpen, !link.owed.isEmpty { acknowledge(link) }
      }
      if digest == before, !wasAway {
        quiet += 1
        if quiet == 6 {
          if alarms == 0 { try judgeAwaited() }
          // The bus has done everything that is due. It retries for ever with a full keeper.
          guard let alarm = Kernel.alarm, setting.keepsAll || alarms < 200 else { break }
          alarms += 1
          Kernel.setClock(max(alarm, Kernel.now))
          quiet = 5
          continue
        }
        // Time for deferred flushes, paced posters and posts that wait for a second.
        Kernel.setClock(Kernel.now + (quiet == 2 ? 1_100_000_000 : 110_000_000))
        if isFinal, quiet == 3 { Kernel.setClock(Kernel.now + 6_000_000_000) }
      } else {
        quiet = 0
      }
    }
    judgeLateHolds()
    try balanceAccounts(isFinal: isFinal)
    try inspect()
  }

  func abandon() {
    Kernel.liveOn()
    bus = nil
    keeping.end()
  }

  func end() throws(Violation) {
    try clearRetained()
    for link in known { link.hasLeft = true }
    for seat in links.indices {
      links[seat]?.close()
      links[seat] = nil
    }
    for _ in 0..<20 {
      Kernel.setClock(Kernel.now + 2_000_000_000)
      try iterate(faults: Faults())
      Kernel.turnKeeper()
    }
    try inspect()
    Kernel.turnKeeper()
    guard let bus else { throw fail("there is no bus in the end") }
    let left = bus.holdings.filter { $0.count != 0 }
    try require(left.isEmpty, "nobody is there any more, and the bus still has \(left)")
    try require(keeping.left.isEmpty, "nobody is there any more, and kept are \(keeping.left)")
    try require(
      bus.nextDeadline.map { $0.nanoseconds > Kernel.now } ?? true,
      "a deadline is past, and nobody looks at it")
    self.bus = nil
    keeping.end()
  }
}
