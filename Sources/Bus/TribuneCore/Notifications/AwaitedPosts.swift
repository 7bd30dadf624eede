// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The awaited posts, by number. A later post reuses the number of a post that has ended.
struct AwaitedPosts {
  private struct Key: Hashable {
    var poster: ConnectionID
    var serial: Serial
  }

  private var posts: [AwaitedPost?] = []
  private var free: [Int] = []
  private var numbersByKey: [Key: Int] = [:]

  var count: Int { numbersByKey.count }
  var numbers: [Int] { posts.indices.filter { posts[$0] != nil } }

  subscript(_ number: Int) -> AwaitedPost {
    guard let post = posts[number] else { preconditionFailure("there is no awaited post \(number)") }
    return post
  }

  mutating func insert(_ post: AwaitedPost, due: Instant, _ deadlines: inout Deadlines<Due>) -> Int {
    let number = free.popLast() ?? posts.count
    if number == posts.count { posts.append(post) } else { posts[number] = post }
    numbersByKey[Key(poster: post.posterID, serial: post.serial)] = number
    post.deadline = deadlines.insert(
      .awaitedPost(number), due: due, rank: DeadlineRank(.awaitedPost, post.posterID.rawValue, post.serial))
    return number
  }

  func number(poster: ConnectionID, serial: Serial) -> Int? {
    numbersByKey[Key(poster: poster, serial: serial)]
  }

  mutating func remove(_ number: Int, _ deadlines: inout Deadlines<Due>) {
    let post = self[number]
    numbersByKey[Key(poster: post.posterID, serial: post.serial)] = nil
    posts[number] = nil
    free.append(number)
    if let deadline = post.deadline { deadlines.remove(deadline) }
    post.deadline = nil
  }
}
