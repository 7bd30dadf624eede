// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// What an observer was given of what others posted: so much came, and of so much it was told that it was dropped.
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
  /// Reads until as many have come or been told lost as were posted, and expects that there is not one more.
  func read(_ tally: inout Tally, to posted: Int) throws {
    while tally.total < posted { try tally.add(next()) }
    #expect(tally.total == posted)
    try expectSilence()
  }

  /// What the bus says of a connection; nil when it has gone.
  func entry(of connection: ConnectionID) throws -> ConnectionEntry? {
    for case .connection(let entry) in try list(List(.connections)) where entry.id == connection {
      return entry
    }
    return nil
  }
}

/// Posts of one kind, each sent whole or not at all.
final class PostStream {
  private let poster: RawClient
  private let frame: [UInt8]
  private(set) var posted = 0

  init(_ poster: RawClient, name: String = "load.unit", length: Int = 1000) {
    self.poster = poster
    let buffer = ByteBuffer(capacity: length + 64)
    buffer.appendFrame(Post(), serial: 1, name: name, text: String(repeating: "x", count: length))
    frame = [UInt8](buffer.bytes)
  }

  /// Sends until the socket takes no more.
  func fill() throws { while try send() {} }

  /// Sends one if the socket takes it.
  @discardableResult
  func send() throws -> Bool {
    let count = try poster.sendWithoutWaiting(frame)
    if count == 0 { return false }
    // What is shorter than a page lies in one piece in the socket.
    try #require(count == frame.count)
    posted += 1
    return true
  }

  /// Sends so many, however long that takes.
  func post(_ count: Int) throws {
    for _ in 0..<count { try poster.send(frame) }
    posted += count
  }
}
