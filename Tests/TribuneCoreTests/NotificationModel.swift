// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// One thing that a connection hears.
enum Heard: Equatable {
  /// The serial of a post is its number in all of the simulation.
  case post(Serial)
  case lost(UInt64)
  case retained(Serial, ConnectionID, NotificationModel.Key, length: Int, age: UInt64)
  case okay(Serial)
  case refused(Serial, ErrorCode)
  case awaited(Serial, Awaited)

  var isAwaited: Bool { if case .awaited = self { true } else { false } }
}

/// A post before it is made.
struct MadePost {
  var name: String
  var object: String
  var text = ""
  var options: PostOptions = []
  var style = PostingStyle.now
  var deadline: UInt32 = 0
  var isAcknowledged = false
}

/// The notification center as its rules are written down: everything in lists that are gone through, and nothing clever.
struct NotificationModel {
  static let users: [UInt32] = [1000, 1001]

  struct Key: Hashable {
    var name: String
    var object: String
  }

  struct Frame {
    var serial: Serial
    var byteCount: Int
  }

  struct Observation {
    var pattern: Pattern
    var object: String
    var suspension: SuspensionBehavior
    var isAwaited: Bool
    /// A delegate's: for wills and dids, and not suspended.
    var isDelegate = false

    func matches(_ name: String, _ object: String) -> Bool {
      pattern.matches(name.utf8Bytes) && (self.object.isEmpty || self.object == object)
        && (!isDelegate || NotificationModel.willsAndDids.contains(name))
    }
  }

  /// What a suspended connection is spared.
  struct Held {
    struct Run {
      var serials: [Serial]
      var byteCount: Int
      var key: Key?
    }

    var runs: [Run] = []
    var lost: UInt64 = 0
    var byteCount: Int { runs.reduce(0) { $0 + $1.byteCount } }
  }

  struct Connection {
    let id: ConnectionID
    let uid: UInt32
    var observations: [Serial: Observation] = [:]
    var held: Held?
  }

  struct Waiting {
    var made: MadePost
    var frame: Frame
    var poster: ConnectionID
    var uid: UInt32
    var posted: Instant
    /// What was set aside to retain it.
    var reserved: Int
  }

  struct Kept {
    var sender: ConnectionID
    var uid: UInt32
    var cost: Int
    var length: Int
    var posted: Instant
    /// A later one has a higher number.
    var number: Int
  }

  struct AwaitedPost {
    var poster: ConnectionSlot
    var posted: Instant
    var due: Instant
    var waiting: Set<ConnectionSlot>
    let count: Int
    var acknowledged: UInt32 = 0
    var missing: [Awaited.Missing] = []
  }

  private enum Way: Int {
    case drop, coalesce, hold, flush, now
  }

  static let willsAndDids = ["a.didB", "a.willC"]

  let limits: BusLimits
  var connections: [ConnectionSlot: Connection] = [:]
  private(set) var soon: [Waiting] = []
  private(set) var idle: [Waiting] = []
  private(set) var retained: [Key: Kept] = [:]
  private(set) var awaited: [Serial: AwaitedPost] = [:]
  private var accounts: [UInt32: Int] = [:]
  private var keptCount = 0
  private var heard: [ConnectionSlot: [Heard]] = [:]

  init(limits: BusLimits) { self.limits = limits }

  var nextDue: Instant? {
    (awaited.values.map(\.due) + idle.prefix(1).map { $0.posted.advanced(byNanoseconds: 1_000_000_000) })
      .min()
  }

  mutating func hear(_ heard: Heard, _ slot: ConnectionSlot) { self.heard[slot, default: []].append(heard) }

  mutating func takeHeard() -> [ConnectionSlot: [Heard]] {
    defer { heard = [:] }
    return heard
  }

  // MARK: Time

  /// Time has come so far, and the bus is told.
  mutating func advance(to now: Instant) {
    expire(at: now)
    while let first = idle.first, first.posted.advanced(byNanoseconds: 1_000_000_000) <= now {
      deliver(idle.removeFirst())
    }
  }

  /// What nobody waits for any more, since its deadline is over.
  mutating func expire(at now: Instant) {
    for (serial, post) in awaited where post.due <= now {
      for slot in post.waiting { miss(serial, slot, .timedOut, "", at: now) }
      conclude(serial)
    }
  }

  // MARK: Observers

  mutating func observe(
    _ observation: Observation, _ slot: ConnectionSlot, _ serial: Serial, withSnapshot: Bool, at now: Instant
  ) {
    expire(at: now)
    connections[slot]?.observations[serial] = observation
    if withSnapshot {
      flush(slot)
      let matching = retained.filter { observation.matches($0.key.name, $0.key.object) }
      for (key, kept) in matching.sorted(by: { $0.value.number < $1.value.number }) {
        let age = now.nanoseconds(since: kept.posted) / 1000
        hear(.retained(serial, kept.sender, key, length: kept.length, age: age), slot)
      }
    }
    hear(.okay(serial), slot)
  }

  mutating func suspend(_ isSuspended: Bool, _ slot: ConnectionSlot, _ serial: Serial, at now: Instant) {
    expire(at: now)
    if !isSuspended {
      flush(slot)
      connections[slot]?.held = nil
    } else if connections[slot]?.held == nil {
      connections[slot]?.held = Held()
    }
    hear(.okay(serial), slot)
  }

  private mutating func flush(_ slot: ConnectionSlot) {
    guard let held = connections[slot]?.held else { return }
    if held.lost > 0 { hear(.lost(held.lost), slot) }
    for serial in held.runs.flatMap(\.serials) { hear(.post(serial), slot) }
    connections[slot]?.held = Held()
  }

  mutating func disconnect(_ slot: ConnectionSlot, at now: Instant) {
    for serial in awaited.keys.sorted() where awaited[serial]?.poster == slot { awaited[serial] = nil }
    for serial in awaited.keys.sorted() where awaited[serial]?.waiting.contains(slot) == true {
      settle(serial, slot, .gone, "", at: now)
    }
    connections[slot] = nil
  }

  // MARK: Posters

  mutating func post(_ made: MadePost, _ frame: Frame, from slot: ConnectionSlot, at now: Instant) {
    expire(at: now)
    guard let poster = connections[slot] else { return }
    var waiting: Set<ConnectionSlot> = []
    if made.options.contains(.awaited) {
      let own = awaited.values.filter { $0.poster == slot }
      waiting = Set(connections.keys.filter { isAwaited(made, by: $0) })
      guard own.count < limits.queriesMax,
        own.reduce(0, { $0 + $1.count }) + waiting.count <= limits.awaitedMax
      else { return hear(.refused(frame.serial, .limitExceeded), slot) }
    }
    var post = Waiting(
      made: made, frame: frame, poster: poster.id, uid: poster.uid, posted: now, reserved: 0)
    guard reserve(&post) else { return hear(.refused(frame.serial, .limitExceeded), slot) }
    coalesce(with: post)
    switch made.style {
    case .now: deliver(post)
    case .asSoonAsPossible: soon.append(post)
    case .whenIdle: idle.append(post)
    }
    if made.options.contains(.awaited) {
      let deadline = made.deadline == 0 ? limits.deadline : made.deadline
      awaited[frame.serial] = AwaitedPost(
        poster: slot, posted: now, due: now.advanced(byMilliseconds: deadline), waiting: waiting,
        count: waiting.count)
      if waiting.isEmpty { conclude(frame.serial) }
    } else if made.isAcknowledged {
      hear(.okay(frame.serial), slot)
    }
  }

  private mutating func reserve(_ post: inout Waiting) -> Bool {
    guard post.made.options.contains(.retain), !post.made.text.isEmpty else { return true }
    let tokens = post.made.name.split(separator: ".").count
    let length = post.made.name.utf8.count + post.made.object.utf8.count + post.made.text.utf8.count
    let cost = length + 256 * (1 + tokens)
    let freed = post.made.style == .now ? retained[Key(post.made)] : nil
    let own = freed?.uid == post.uid ? freed?.cost ?? 0 : 0
    guard accounts[post.uid, default: 0] + cost - own <= limits.retainedUserMax,
      accounts.values.reduce(0, +) + cost - (freed?.cost ?? 0) <= limits.retainedMax
    else { return false }
    accounts[post.uid, default: 0] += cost
    post.reserved = cost
    return true
  }

  private mutating func coalesce(with post: Waiting) {
    let (byName, byObject) = (
      post.made.options.contains(.coalesceByName), post.made.options.contains(.coalesceByObject)
    )
    guard byName || byObject else { return }
    for queue in [\NotificationModel.soon, \NotificationModel.idle] {
      let replaced = self[keyPath: queue].filter {
        $0.uid == post.uid && (!byName || $0.made.name == post.made.name)
          && (!byObject || $0.made.object == post.made.object)
      }
      for other in replaced {
        accounts[other.uid, default: 0] -= other.reserved
        self[keyPath: queue].removeAll { $0.frame.serial == other.frame.serial }
      }
    }
  }

  mutating func deliverSoon() { while !soon.isEmpty { deliver(soon.removeFirst()) } }

  mutating func deliverIdle() { while !idle.isEmpty { deliver(idle.removeFirst()) } }

  private mutating func deliver(_ post: Waiting) {
    if post.made.options.contains(.retain) {
      let key = Key(post.made)
      if let before = retained.removeValue(forKey: key) { accounts[before.uid, default: 0] -= before.cost }
      if !post.made.text.isEmpty {
        keptCount += 1
        retained[key] = Kept(
          sender: post.poster, uid: post.uid, cost: post.reserved, length: post.made.text.utf8.count,
          posted: post.posted, number: keptCount)
      }
    }
    deliver([post.frame], post.made.name, post.made.object, post.made.options)
  }

  /// Those of one name and object that lie behind each other.
  mutating func deliver(_ frames: [Frame], _ name: String, _ object: String, _ options: PostOptions) {
    for slot in connections.keys.sorted(by: { $0.index < $1.index }) {
      switch way(of: name, object, options, to: slot) {
      case nil, .drop: continue
      case .flush:
        flush(slot)
        for frame in frames { hear(.post(frame.serial), slot) }
      case .now: for frame in frames { hear(.post(frame.serial), slot) }
      case .coalesce: hold(Array(frames.suffix(1)), Key(name: name, object: object), slot)
      case .hold: hold(frames, nil, slot)
      }
    }
  }

  private func way(
    of name: String, _ object: String, _ options: PostOptions, to slot: ConnectionSlot
  ) -> Way? {
    guard let connection = connections[slot] else { return nil }
    let matching = connection.observations.values.filter { $0.matches(name, object) }
    let ways = matching.map { observation in
      if connection.held == nil || observation.isDelegate { return Way.now }
      return switch observation.suspension {
      case .drop: Way.drop
      case .coalesce: .coalesce
      case .hold: .hold
      case .deliverImmediately: .flush
      }
    }
    guard let way = ways.max(by: { $0.rawValue < $1.rawValue }) else { return nil }
    let isWaitedFor = options.contains(.awaited) && way != .drop && matching.contains { $0.isAwaited }
    return options.contains(.immediately) || isWaitedFor ? (way == .now ? .now : .flush) : way
  }

  private func isAwaited(_ made: MadePost, by slot: ConnectionSlot) -> Bool {
    guard let way = way(of: made.name, made.object, made.options, to: slot), way != .drop else {
      return false
    }
    return connections[slot]?.observations.values
      .contains { $0.isAwaited && $0.matches(made.name, made.object) } == true
  }

  private mutating func hold(_ frames: [Frame], _ key: Key?, _ slot: ConnectionSlot) {
    let total = connections.values.reduce(0) { $0 + ($1.held?.byteCount ?? 0) }
    let share =
      total > limits.heldTotalMax
      ? limits.heldTotalMax / connections.values.count { $0.held != nil } : .max
    guard var held = connections[slot]?.held else { return }
    if let key { held.runs.removeAll { $0.key == key } }
    let byteCount = frames.reduce(256) { $0 + $1.byteCount }
    held.runs.append(Held.Run(serials: frames.map(\.serial), byteCount: byteCount, key: key))
    while held.byteCount > min(limits.heldMax, share), !held.runs.isEmpty {
      held.lost += UInt64(held.runs.removeFirst().serials.count)
    }
    connections[slot]?.held = held
  }

  // MARK: Waiting

  mutating func acknowledge(
    _ post: Serial, _ poster: ConnectionID, from slot: ConnectionSlot, _ serial: Serial,
    failed reason: String?, at now: Instant
  ) {
    expire(at: now)
    guard let waited = awaited[post], connections[waited.poster]?.id == poster, waited.waiting.contains(slot)
    else { return hear(.refused(serial, .notAsked), slot) }
    settle(post, slot, reason.map { _ in .failed }, reason ?? "", at: now)
  }

  mutating func cancel(_ post: Serial, from slot: ConnectionSlot, _ serial: Serial, at now: Instant) {
    expire(at: now)
    if awaited.removeValue(forKey: post) != nil {
      hear(.refused(post, .cancelled), slot)
      hear(.okay(serial), slot)
    } else {
      hear(.refused(serial, .notFound), slot)
    }
  }

  private mutating func settle(
    _ post: Serial, _ slot: ConnectionSlot, _ failure: Awaited.Failure?, _ reason: String, at now: Instant
  ) {
    if let failure { miss(post, slot, failure, reason, at: now) } else { awaited[post]?.acknowledged += 1 }
    awaited[post]?.waiting.remove(slot)
    if awaited[post]?.waiting.isEmpty == true { conclude(post) }
  }

  private mutating func miss(
    _ post: Serial, _ slot: ConnectionSlot, _ failure: Awaited.Failure, _ reason: String, at now: Instant
  ) {
    guard let connection = connections[slot], let posted = awaited[post]?.posted else { return }
    let peer = PeerIdentity(pid: 0, uid: connection.uid, gid: 1000, process: "test", unit: "test.service")
    awaited[post]?.missing.append(
      Awaited.Missing(
        connection: connection.id, peer: peer, failure: failure, reason: reason,
        elapsed: now.nanoseconds(since: posted) / 1000))
  }

  private mutating func conclude(_ serial: Serial) {
    guard let post = awaited.removeValue(forKey: serial) else { return }
    let missing = post.missing.sorted { $0.connection < $1.connection }
    hear(.awaited(serial, Awaited(acknowledged: post.acknowledged, missing: missing)), post.poster)
  }
}

extension NotificationModel.Key {
  fileprivate init(_ made: MadePost) { self.init(name: made.name, object: made.object) }
}
