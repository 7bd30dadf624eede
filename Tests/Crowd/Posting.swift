// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneTestSupport

/// Posts numbers under a name of its own, and knows which the bus has taken.
final class Poster: Sendable {
  let name: String
  let connection: Connection

  init(name: String, connection: Connection) {
    self.name = name
    self.connection = connection
  }

  /// Posts until it is to stop: some that nobody confirms, then one that the bus does, which confirms them all,
  /// because it takes what a connection sends in order. Where the connection was made anew in between, some may have been
  /// lost with the old one.
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

  /// The number, and mostly little behind it; seldom so much that it travels as a file.
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
  /// Waits until the bus has answered.
  ///
  /// - Returns: false if the connection was lost meanwhile.
  fileprivate func isAnswered() async -> Bool {
    do {
      try await postAcknowledged("settled")
      return true
    } catch {
      return false
    }
  }
}

/// Counts what comes.
final class Observer: Sendable {
  let name: String
  let connection: Connection
  private let notifications: Notifications

  init(name: String, connection: Connection) async throws {
    self.name = name
    self.connection = connection
    notifications = try await connection.observe("load.**", limit: 65_536)
  }

  /// Returns when the bus has answered, at the second time if the connection was lost and made anew meanwhile.
  func settle() async throws {
    if await connection.isAnswered() { return }
    try await connection.postAcknowledged("settled")
  }

  /// Observes to the post that ends it all, and writes what came.
  func observe(_ account: Account) async throws {
    var tally = Tally(name: name)
    for try await delivery in notifications where tally.takes(delivery) { break }
    await account.write(tally.lines)
  }
}

/// What one observer received.
private struct Tally {
  let name: String
  private var lost = 0
  private var received: [String: Numbers] = [:]
  private var complaints: [String] = []

  init(name: String) { self.name = name }

  /// Counts a delivery.
  ///
  /// - Returns: whether it is the one that ends it all.
  mutating func takes(_ delivery: Delivery) -> Bool {
    if case .lost(let count) = delivery {
      lost += count
      return false
    }
    guard case .notification(let notification) = delivery else {
      // Whatever else there may be does not say how many are missing.
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
