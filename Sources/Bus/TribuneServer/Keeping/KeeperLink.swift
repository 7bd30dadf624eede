// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// The bus's end of its connection to the keeper (`Keeper`).
///
/// While the bus serves clients, it never waits for its keeper. At the end of an iteration, it sends
/// descriptors, until `windowMax` messages are unacknowledged. If the keeper does not acknowledge in time,
/// the bus leaves it, looks for another keeper, and sends all descriptors to that keeper.
// `@MainActor` is explicit, because a module that inlines the initializer does not see this module's default
// isolation (Swift 6.2).
@MainActor
final class KeeperLink {
  /// An arrow names the states that may follow.
  enum State {
    /// The bus looks for a keeper at `until`. → attaching, up, ended
    case down(until: Instant)
    /// The bus has sent `attach`, and waits for the answer. → up, down, ended
    case attaching(KeeperChannel)
    /// → down, ended
    case up(KeeperChannel)
    /// The bus runs without a keeper, or other daemons must not resume this bus. Final.
    case ended
  }

  struct Entry {
    /// An arrow names the states that may follow.
    enum Progress {
      /// → sent
      case waiting
      /// → kept, refused, waiting
      case sent
      /// The keeper has no space for the item. → waiting
      case refused
      /// → waiting
      case kept
    }

    let descriptor: CInt
    let isOwned: Bool
    var progress = Progress.waiting
  }

  enum Sent {
    case attach
    case batch([KeptItem])
    case forget
  }

  private static let answerLimitNanoseconds: UInt64 = 5_000_000_000
  private static let retryNanoseconds: UInt64 = 200_000_000
  /// How long the bus waits before it offers a full keeper another item.
  private static let offerAgainNanoseconds: UInt64 = 1_000_000_000
  private static let forgettingMax = 65_536

  let path: String
  let log: Log
  private let loop: EventLoop
  private let manager: ManagerStore?
  private let clock: () -> Instant
  var state: State
  private(set) var entries: [KeptItem: Entry] = [:]
  /// The items from index `waitingHead` on wait to be sent, in this order. Items without an entry were
  /// forgotten meanwhile, and are not sent.
  private var waiting: [KeptItem] = []
  private var waitingHead = 0
  private var forgetting: [KeptItem] = []
  private var refused: [KeptItem] = []
  private var offerAgainAt: Instant?
  private(set) var unacknowledged: [(sent: Sent, at: Instant)] = []
  private var retryAt: Instant?
  /// Items that the keeper has passed to this bus, and for which neither `keep` nor `forget` was called yet.
  var given: Set<KeptItem> = []
  private var lastRefusal: String?
  private var refillBegan: Instant?
  /// True if `endIteration` must be called. It is false in most iterations.
  let hasChanged = Cell(true)
  var isHandingOver = false

  init(
    path: String?, manager: ManagerStore?, loop: EventLoop, log: Log,
    clock: @escaping () -> Instant = { Instant(nanoseconds: SystemClock.monotonicNanoseconds) }
  ) {
    (self.path, self.manager, self.loop, self.log, self.clock) = (path ?? "", manager, loop, log, clock)
    state = path == nil ? .ended : .down(until: Instant(nanoseconds: 0))
  }

  isolated deinit {
    for entry in entries.values { close(entry) }
  }

  var now: Instant { clock() }

  // MARK: Kept items

  /// - Parameter descriptor: must stay open until the item is forgotten.
  /// - Returns: true if this keeper or the next keeper will get the item.
  @discardableResult
  func keep(_ item: KeptItem, lending descriptor: CInt) -> Bool {
    guard !hasEnded else { return false }
    add(item, Entry(descriptor: descriptor, isOwned: false))
    return true
  }

  func keep(_ item: KeptItem, owning descriptor: consuming FileDescriptor) {
    guard !hasEnded else { return descriptor.close() }
    add(item, Entry(descriptor: descriptor.release(), isOwned: true))
  }

  private func add(_ item: KeptItem, _ entry: Entry) {
    if let old = entries[item] { close(old) }
    var entry = entry
    if given.remove(item) != nil { entry.progress = .kept } else { wait(item) }
    entries[item] = entry
    hasChanged.value = true
  }

  /// Without a keeper, the item need not be queued, because the next keeper gets all entries.
  private func wait(_ item: KeptItem) {
    switch state {
    case .attaching, .up: waiting.append(item)
    case .down, .ended: break
    }
  }

  func forget(_ item: KeptItem) {
    hasChanged.value = true
    guard let entry = entries.removeValue(forKey: item) else {
      if given.remove(item) != nil { forgetting.append(item) }
      return
    }
    close(entry)
    switch (entry.progress, state) {
    case (.waiting, _), (.refused, _), (_, .down), (_, .ended): break
    case (.sent, _), (.kept, _):
      forgetting.append(item)
      offerRefused()
    }
  }

  private func offerRefused() {
    while let item = refused.popLast() {
      guard case .refused? = entries[item]?.progress else { continue }
      entries[item]?.progress = .waiting
      return wait(item)
    }
    offerAgainAt = nil
  }

  private func close(_ entry: Entry) {
    if entry.isOwned { FileDescriptor(owning: entry.descriptor).close() }
  }

  func forgetUnclaimed() {
    forgetting += given.sorted()
    given = []
    hasChanged.value = true
  }

  func isToKeep(_ item: KeptItem) -> Bool { entries[item] != nil }

  func isKept(_ item: KeptItem) -> Bool { entries[item]?.progress == .kept }

  var descriptorCount: Int { entries.count }
  var keptCount: Int { entries.values.count { $0.progress == .kept } }

  var unkeptConnections: [KeptItem] {
    entries.filter { $0.key.kind == .connection && $0.value.progress == .sent }.keys.sorted()
  }

  var keepsAll: Bool { entries.values.allSatisfy { $0.progress == .kept } }
  private var channel: KeeperChannel? {
    switch state {
    case .attaching(let channel), .up(let channel): channel
    case .down, .ended: nil
    }
  }
  var hasEnded: Bool { if case .ended = state { true } else { false } }
  var isUp: Bool { if case .up = state { true } else { false } }
  var isUpToDate: Bool {
    isUp && unacknowledged.isEmpty && forgetting.isEmpty && waitingHead == waiting.count
  }

  var hasWork: Bool {
    (!forgetting.isEmpty || waitingHead < waiting.count) && unacknowledged.count < KeeperMessage.windowMax
  }

  func keep(log: CInt) {
    keep(.log(FileDescriptor.lending(log) { $0.inode } ?? 0), lending: log)
  }

  // MARK: The service manager

  func store(log: CInt) {
    if !hasEnded { manager?.store(log: log) }
  }

  // MARK: Sending

  /// - Returns: the time of the next `tick`.
  func endIteration() -> Instant? {
    hasChanged.value = false
    flush()
    guard let due = manager?.nextDue else { return nextDue }
    return min(due, nextDue ?? due)
  }

  func flush() {
    if forgetting.count > Self.forgettingMax { leave(because: "it does not keep up") }
    retryAt = nil
    while case .up(let channel) = state, hasWork {
      guard !sendNext(over: channel) else { continue }
      // An acknowledgement causes another try. If none is expected, a timer must cause the try.
      if unacknowledged.isEmpty, hasWork { retryAt = now.advanced(byNanoseconds: Self.retryNanoseconds) }
      return
    }
  }

  private func sendNext(over channel: KeeperChannel) -> Bool {
    if !forgetting.isEmpty {
      // The items to forget go first. An item waits in both lists if the bus keeps it again. The keeper must
      // then forget the old descriptor before it gets the new one.
      let items = Array(forgetting.prefix(KeeperMessage.itemsMax))
      guard send(.forget(items), as: .forget, over: channel) else { return false }
      forgetting.removeFirst(items.count)
      return true
    }
    var items: [KeptItem] = []
    var descriptors: [CInt] = []
    var next = waitingHead
    while next < waiting.count, items.count < KeeperMessage.itemsMax {
      let item = waiting[next]
      next += 1
      guard let entry = entries[item], case .waiting = entry.progress else { continue }
      entries[item]?.progress = .sent
      items.append(item)
      descriptors.append(entry.descriptor)
    }
    guard items.isEmpty || send(.batch(items), as: .batch(items), over: channel, passing: descriptors) else {
      for item in items { entries[item]?.progress = .waiting }
      return false
    }
    waitingHead = next
    if waitingHead == waiting.count { (waiting, waitingHead) = ([], 0) }
    return !items.isEmpty
  }

  private func send(
    _ message: KeeperMessage, as sent: Sent, over channel: KeeperChannel, passing descriptors: [CInt] = []
  ) -> Bool {
    do throws(KeeperChannel.Failure) {
      guard try channel.send(message, passing: descriptors) else { return false }
      unacknowledged.append((sent, now))
      return true
    } catch {
      leave(because: "\(error)")
      return false
    }
  }

  // MARK: Receiving

  func receive() {
    hasChanged.value = true
    while true {
      guard let channel else { return }
      do throws(KeeperChannel.Failure) {
        guard case .message(let message, let passed) = try channel.receive() else { break }
        guard passed.isEmpty else { throw .malformed("unexpected descriptors from the keeper") }
        try handle(message, from: channel)
      } catch {
        return leave(because: "\(error)")
      }
    }
    flush()
  }

  private func handle(_ message: KeeperMessage, from channel: KeeperChannel) throws(KeeperChannel.Failure) {
    switch message {
    case .acknowledged(let count):
      guard !unacknowledged.isEmpty else { throw .malformed("nothing to acknowledge") }
      switch unacknowledged.removeFirst().sent {
      case .attach:
        (state, lastRefusal) = (.up(channel), nil)
        renewLease()
      case .forget: break
      case .batch(let items): try acknowledge(items, count)
      }
      logRefillIfComplete()
    case .leaving:
      // During a hand-over, the bus needs this keeper: the next daemon gets everything from it.
      guard !isHandingOver else { return }
      leave(because: "it is shutting down", isExpected: true)
    case .refusal(let reason):
      if reason != lastRefusal { log.notice("the keeper refuses this bus: \(reason)") }
      lastRefusal = reason
    case .attach, .batch, .forget, .end, .finished:
      throw .malformed("unexpected message from the keeper")
    }
  }

  private func acknowledge(_ items: [KeptItem], _ count: Int) throws(KeeperChannel.Failure) {
    guard count <= items.count else {
      throw .malformed("\(count) of \(items.count) descriptors are acknowledged")
    }
    for (index, item) in items.enumerated() where entries[item]?.progress == .sent {
      entries[item]?.progress = index < count ? .kept : .refused
      if index >= count { refused.append(item) }
    }
    guard count < items.count else { return offerRefused() }
    defer { offerAgainAt = now.advanced(byNanoseconds: Self.offerAgainNanoseconds) }
    // After the first refusal (`offerAgainAt`), the bus offers the full keeper one item at a time. If the
    // keeper refuses this item, the bus does not report the lack of space again.
    guard offerAgainAt == nil || items.count > 1 else { return }
    log.warning("the keeper has no space for \((items.count - count).counted("descriptor"))")
  }

  private func logRefillIfComplete() {
    guard let began = refillBegan, unacknowledged.isEmpty, waitingHead == waiting.count else { return }
    refillBegan = nil
    let microseconds = now.nanoseconds(since: began) / 1000
    log.info("the keeper has \(keptCount.counted("descriptor")), sent in \(microseconds) µs")
  }

  // MARK: Coming and going

  var nextDue: Instant? {
    switch state {
    case .down(let until): until
    case .attaching, .up:
      retryAt ?? unacknowledged.first?.at.advanced(byNanoseconds: Self.answerLimitNanoseconds) ?? offerAgainAt
    case .ended: nil
    }
  }

  func tick(at now: Instant) {
    manager?.tick(at: now)
    hasChanged.value = true
    guard let due = nextDue, due <= now else { return }
    if case .down = state { return attach() }
    if retryAt != nil { return flush() }
    if unacknowledged.isEmpty {
      offerRefused()
      return flush()
    }
    // If this process was stopped for a while, the keeper's answer can wait in the socket.
    receive()
    // A hand-over has no time to look for another keeper, and this keeper can still answer.
    guard !isHandingOver, let due = nextDue, due <= now, channel != nil else { return }
    leave(because: "it has not answered in time")
  }

  private func attach() {
    do throws(KeeperChannel.Failure) {
      let channel = try KeeperChannel.connect(to: path)
      try watch(channel)
      state = .attaching(channel)
      refillBegan = now
      // Sorting puts the log first. Without the log, the other descriptors are useless to the next daemon.
      waiting = entries.keys.sorted()
      waitingHead = 0
      guard send(.attach(.begin), as: .attach, over: channel) else { throw .ended }
    } catch {
      if case .attaching = state { return leave(because: "\(error)") }
      log.debug("no keeper at \(path): \(error)")
      state = .down(until: now.advanced(byNanoseconds: Self.retryNanoseconds))
    }
  }

  func watch(_ channel: KeeperChannel) throws(KeeperChannel.Failure) {
    do throws(Errno) {
      try loop.add(channel.rawValue, for: .readable, token: .keeper)
    } catch {
      throw .failed(error)
    }
  }

  /// Makes a new lease (a pair of sockets) for each bus and each keeper, because one end of an earlier pair
  /// can be lost. The service manager drops its end of a pair when the other end is closed.
  func renewLease() {
    guard let manager else { return }
    do throws(Errno) {
      let pair = try UnixSocket.makePair()
      let one = try pair.one.duplicate().release()
      manager.store(lease: pair.other.rawValue) { [weak self] isSent in
        let descriptor = FileDescriptor(owning: one)
        // The keeper gets its end only if the service manager gets the other end. If only the keeper had an
        // end, the other end would close with this process, and the keeper would then close everything.
        if isSent, let self { keep(.lease, owning: descriptor) } else { descriptor.close() }
      }
    } catch {
      log.warning("cannot create a lease: \(error)")
    }
  }

  func leave(because reason: String, isExpected: Bool = false) {
    guard let channel else { return }
    // This bus continues, so the keeper must not pass the descriptors to another bus.
    sendFinished(on: channel)
    loop.unwatch(channel.rawValue)
    log.write(
      isUp ? (isExpected ? .info : .warning) : .debug,
      "no connection survives a restart until there is another keeper: left this one (\(reason))")
    state = .down(until: now.advanced(byNanoseconds: Self.retryNanoseconds))
    unacknowledged = []
    retryAt = nil
    (forgetting, refused, offerAgainAt) = ([], [], nil)
    given = []
    if let lease = entries.removeValue(forKey: .lease) { close(lease) }
    for item in entries.keys { entries[item]?.progress = .waiting }
    (waiting, waitingHead) = ([], 0)
  }

  /// Must be called if other daemons must not resume the bus.
  func end() {
    if let channel {
      if isUp { sendFinished(on: channel) }
      loop.unwatch(channel.rawValue)
    }
    state = .ended
  }

  private func sendFinished(on channel: KeeperChannel) {
    do throws(KeeperChannel.Failure) {
      _ = try channel.send(.finished)
    } catch {
      log.debug("cannot tell the keeper that no other bus resumes this one: \(error)")
    }
  }
}
