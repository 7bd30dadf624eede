// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Notifications that wait until the end of the loop iteration, or until the bus is idle, as in
/// NSNotificationQueue.
struct PostingQueue {
  /// In bytes. If more bytes wait, the bus delivers the oldest notifications early, instead of losing them.
  private static var waitingMax: Int { 1 << 20 }
  /// The bytes counted for each notification, in addition to its frame.
  private static var overhead: Int { 512 }
  private static var idleNanoseconds: UInt64 { 1_000_000_000 }

  private var soon = CoalescingQueue<PostedNotification>()
  private var idle = CoalescingQueue<PostedNotification>()

  private var lastNumber: UInt64 = 0

  var hasSoon: Bool { !soon.isEmpty }
  var hasIdle: Bool { !idle.isEmpty }
  var nextDue: Instant? { idle.first?.posted.advanced(byNanoseconds: Self.idleNanoseconds) }

  /// Removes and returns the notifications that `posted` replaces. These belong to the same user, and have
  /// the same name, the same object, or both, as the options of `posted` say.
  mutating func coalesce(with posted: PostedNotification) -> [PostedNotification] {
    guard let key = posted.coalescingKey else { return [] }
    return soon.remove(under: key) + idle.remove(under: key)
  }

  /// Adds a notification. If it waits for an idle bus, the queue copies its frame and assigns a number.
  /// Returns the notification with this copy and number.
  @discardableResult
  mutating func append(_ posted: PostedNotification) -> PostedNotification {
    var posted = posted
    let byteCount = posted.slice.weight + Self.overhead
    var keys = posted.keys
    if posted.fields.style == .whenIdle {
      // The copy lets the bus reuse the receive buffer.
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

  mutating func remove(number: UInt64) -> PostedNotification? {
    lastNumber = max(lastNumber, number)
    return idle.remove(under: Self.key(ofNumber: number)).first
  }

  /// This key is unique, because other keys do not begin with NUL.
  private static func key(ofNumber number: UInt64) -> ExactText { ExactText("\0\(number)") }

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
  fileprivate var keys: [ExactText] { PostOptions.coalescing.kinds.map { key(of: $0) } }

  fileprivate var coalescingKey: ExactText? {
    let kind = fields.options.intersection(.coalescing)
    return kind.isEmpty ? nil : key(of: kind)
  }

  /// NUL separates the parts, because names and objects have no control characters.
  private func key(of kind: PostOptions) -> ExactText {
    switch kind {
    case .coalesceByName: ExactText("\(uid)\0\(name)")
    case .coalesceByObject: ExactText("\(uid)\0\0\(object)")
    default: ExactText("\(uid)\0\(name)\0\(object)")
    }
  }
}

extension PostOptions {
  fileprivate var kinds: [PostOptions] { [.coalesceByName, .coalesceByObject, .coalescing] }
}
