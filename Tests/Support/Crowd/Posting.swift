// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneTestSupport

final class Poster: Sendable {
  let name: String
  let connection: Connection

  init(name: String, connection: Connection) {
    self.name = name
    self.connection = connection
  }

  /// Posts bursts of numbers until `stopping` is raised. The acknowledgement of the last confirms the burst, because
  /// the bus takes a connection's frames in order. After a reconnection, some may be lost.
  func post(seed: UInt64, _ account: Account, until stopping: Flag) async {
    var random = SplitMix64(seed: seed)
    var last = 0
    let over = connection.over
    while !stopping.isRaised, !over.isRaised {
      let burst = last + 1...last + Int.random(in: 1...8, using: &random)
      last = burst.upperBound
      let id = connection.id
      do {
        for number in burst.dropLast() {
          try await connection.post("load.\(name)", userInfo: userInfo(number, &random))
        }
        try await connection.postAcknowledged("load.\(name)", userInfo: userInfo(last, &random))
        if connection.id != id { await account.write(burst.dropLast().map { "unsure \(name) \($0)" }) }
        await account.progress()
      } catch {
        await account.write(burst.map { "unsure \(name) \($0)" })
        await account.write("broken \(name) \(error)")
        if error.code != .connectionLost { break }
        while !over.isRaised, await !connection.isAnswered() {}
      }
    }
    await account.write("posted \(name) \(last)")
  }

  /// Mostly short padding; rarely so much that it is sent as a file.
  private func userInfo(_ number: Int, _ random: inout SplitMix64) -> UserInfo {
    let length =
      if random.oneIn(400) {
        Int.random(in: 65_536...150_000, using: &random)
      } else if random.oneIn(20) {
        Int.random(in: 1_000...20_000, using: &random)
      } else {
        Int.random(in: 0...100, using: &random)
      }
    return UserInfo("\(number) " + String(repeating: "x", count: length))
  }
}

extension Connection {
  fileprivate func isAnswered() async -> Bool {
    do {
      try await postAcknowledged("settled")
      return true
    } catch {
      return false
    }
  }
}

final class Observer: Sendable {
  let name: String
  let connection: Connection
  private let notifications: Notifications

  init(name: String, connection: Connection) async throws {
    self.name = name
    self.connection = connection
    notifications = try await connection.observe("load.**", limit: 65_536)
  }

  /// Returns when the bus has answered. Asks again on a new connection.
  func settle() async throws {
    if await connection.isAnswered() { return }
    try await connection.postAcknowledged("settled")
  }

  func observe(_ account: Account) async throws {
    var tally = Tally(name: name)
    for try await delivery in notifications where tally.takes(delivery) { break }
    await account.write(tally.lines)
  }
}

private struct Tally {
  let name: String
  private var lost = 0
  private var received: [String: Numbers] = [:]
  private var complaints: [String] = []

  init(name: String) { self.name = name }

  mutating func takes(_ delivery: Delivery) -> Bool {
    if case .lost(let count) = delivery {
      lost += count
      return false
    }
    guard case .notification(let notification) = delivery else {
      // Other deliveries do not give the number of losses.
      complaints.append("broken \(name) received \(delivery)")
      return false
    }
    let poster = String(notification.name.dropFirst("load.".count))
    if poster == "end" { return true }
    let digits = notification.userInfo.bytes.prefix { $0 != UInt8(ascii: " ") }
    guard let number = Int(String(decoding: digits, as: UTF8.self)) else {
      complaints.append("broken \(name) received something else from \(poster)")
      return false
    }
    if !received[poster, default: Numbers()].add(number) {
      complaints.append("repeated \(name) \(poster) \(number)")
    }
    return false
  }

  var lines: [String] {
    complaints + ["observed \(name) \(lost)"] + received.map { "received \(name) \($0) \($1.text)" }
  }
}
