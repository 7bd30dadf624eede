// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

struct Tally {
  private(set) var received = 0
  private(set) var lost = 0

  var total: Int { received + lost }

  mutating func add(_ frame: RawClient.Frame) throws {
    switch frame.kind {
    case .post: received += 1
    case .lost: lost += Int(try frame.decode(Lost.self).count)
    default: break
    }
  }
}

extension RawClient {
  func read(_ tally: inout Tally, to posted: Int) throws {
    while tally.total < posted { try tally.add(next()) }
    #expect(tally.total == posted)
    try expectSilence()
  }

  func entry(of connection: ConnectionID) throws -> ConnectionEntry? {
    try connections().first { $0.id == connection }
  }
}

/// Sends copies of one post, each whole or not at all.
final class PostStream {
  private let poster: RawClient
  private let frame: [UInt8]
  private(set) var posted = 0

  init(_ poster: RawClient, name: String = "load.unit", length: Int = 1000) {
    self.poster = poster
    frame = RawClient.bytes {
      $0.appendFrame(Post(), serial: 1, name: name, text: String(repeating: "x", count: length))
    }
  }

  func fill() throws { while try send() {} }

  @discardableResult
  func send() throws -> Bool {
    let count = try poster.sendWithoutWaiting(frame)
    if count == 0 { return false }
    // A socket takes less than a page whole.
    try #require(count == frame.count)
    posted += 1
    return true
  }

  func post(_ count: Int) throws {
    for _ in 0..<count { try poster.send(frame) }
    posted += count
  }
}
