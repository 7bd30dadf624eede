// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The awaited posts under way. A post keeps its number until it ends; then the number is free for another post.
struct AwaitedPosts {
  private struct Key: Hashable {
    var poster: ConnectionID
    var serial: Serial
  }

  private var posts: [AwaitedPost?] = []
  private var free: [Int] = []
  private var numbersByKey: [Key: Int] = [:]
  private var deadlines = DeadlineHeap()

  var count: Int { numbersByKey.count }
  /// The numbers in use, ascending.
  var numbers: [Int] { posts.indices.filter { posts[$0] != nil } }
  var nextDue: Instant? { deadlines.first?.due }

  subscript(_ number: Int) -> AwaitedPost {
    guard let post = posts[number] else { preconditionFailure("nothing is awaited under \(number)") }
    return post
  }

  mutating func insert(_ post: AwaitedPost, due: Instant) -> Int {
    let number = free.popLast() ?? posts.count
    if number == posts.count { posts.append(post) } else { posts[number] = post }
    numbersByKey[Key(poster: post.posterID, serial: post.serial)] = number
    deadlines.insert(number, due: due)
    return number
  }

  func number(poster: ConnectionID, serial: Serial) -> Int? {
    numbersByKey[Key(poster: poster, serial: serial)]
  }

  func due(of number: Int) -> Instant { deadlines.due(of: number) }

  /// The post with the earliest deadline, if that is over at `now`.
  func firstDue(at now: Instant) -> Int? {
    guard let first = deadlines.first, first.due <= now else { return nil }
    return first.item
  }

  mutating func remove(_ number: Int) {
    let post = self[number]
    numbersByKey[Key(poster: post.posterID, serial: post.serial)] = nil
    posts[number] = nil
    free.append(number)
    deadlines.remove(number)
  }
}
