// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Notifications that wait for the end of a pass, or for the bus to be idle, as in NSNotificationQueue.
struct PostingQueue {
  /// Bytes that wait in all. Past it the oldest go early, so that nothing is lost.
  private static var waitingMax: Int { 1 << 20 }
  /// What each takes besides its bytes.
  private static var overhead: Int { 512 }
  /// How long something waits for the bus to be idle, at most.
  private static var idleNanoseconds: UInt64 { 1_000_000_000 }

  private var soon = CoalescingQueue<PostedNotification>()
  private var idle = CoalescingQueue<PostedNotification>()

  /// The last that was given to one that waits for the bus to be idle.
  private var lastNumber: UInt64 = 0

  var count: Int { soon.count + idle.count }
  /// Memory follows it.
  var placeCount: Int { soon.placeCount + idle.placeCount }
  var hasSoon: Bool { !soon.isEmpty }
  var hasIdle: Bool { !idle.isEmpty }
  /// When what waits for the bus to be idle has waited long enough.
  var nextDue: Instant? { idle.first?.posted.advanced(byNanoseconds: Self.idleNanoseconds) }

  /// Takes out what `posted` is to take the place of: of the same user, and the same name, object or both.
  mutating func coalesce(with posted: PostedNotification) -> [PostedNotification] {
    guard let key = posted.coalescingKey else { return [] }
    return soon.remove(under: key) + idle.remove(under: key)
  }

  /// - Returns: as it waits.
  @discardableResult
  mutating func append(_ posted: PostedNotification) -> PostedNotification {
    var posted = posted
    let byteCount = posted.slice.weight + Self.overhead
    var keys = posted.keys
    if posted.fields.style == .whenIdle {
      // What it came in with is not to be kept for its sake.
      posted.slice = posted.slice.copied()
      if posted.number == 0 { posted.number = lastNumber + 1 }
      lastNumber = max(lastNumber, posted.number)
      keys.append(Self.key(ofNumber: posted.number))
      idle.append(posted, keys: keys, byteCount: byteCount)
    } else {
      soon.append(posted, keys: keys, byteCount: byteCount)
    }
    return posted
  }

  /// Takes out the one of that number, and gives the number to none.
  mutating func remove(number: UInt64) -> PostedNotification? {
    lastNumber = max(lastNumber, number)
    return idle.remove(under: Self.key(ofNumber: number)).first
  }

  /// No other key begins so.
  private static func key(ofNumber number: UInt64) -> ExactText { ExactText("\0\(number)") }

  /// The oldest of those for which there is no room to wait.
  mutating func popSurplus() -> PostedNotification? {
    guard soon.byteCount + idle.byteCount > Self.waitingMax else { return nil }
    guard let oldest = idle.first, soon.first.map({ oldest.posted <= $0.posted }) ?? true else {
      return soon.popFirst()
    }
    return idle.popFirst()
  }

  mutating func popSoon() -> PostedNotification? { soon.popFirst() }

  mutating func popIdle() -> PostedNotification? { idle.popFirst() }

  mutating func popDue(at now: Instant) -> PostedNotification? {
    guard let due = nextDue, due <= now else { return nil }
    return idle.popFirst()
  }
}

extension PostedNotification {
  /// Under which it is found by those that come later.
  fileprivate var keys: [ExactText] { PostOptions.coalescing.kinds.map { key(of: $0) } }

  fileprivate var coalescingKey: ExactText? {
    let kind = fields.options.intersection(.coalescing)
    return kind.isEmpty ? nil : key(of: kind)
  }

  /// Names and objects have no control characters, so that what stands between keeps them apart.
  private func key(of kind: PostOptions) -> ExactText {
    let key = key
    let name = String(repairing: key.extracting(first: header.nameLength))
    let object = String(repairing: key.extracting(droppingFirst: header.nameLength))
    let text =
      switch kind {
      case .coalesceByName: "\(uid)\0\(name)"
      case .coalesceByObject: "\(uid)\0\0\(object)"
      default: "\(uid)\0\(name)\0\(object)"
      }
    return ExactText(text)
  }
}

extension PostOptions {
  /// By name, by object, and by both.
  fileprivate var kinds: [PostOptions] { [.coalesceByName, .coalesceByObject, .coalescing] }
}
