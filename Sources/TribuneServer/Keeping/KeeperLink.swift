// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// The bus's side of its keeper (`Keeper`): what the keeper is to keep, and how far that has got.
///
/// The bus never waits for its keeper. What is to be kept is noted here, and sent when an iteration ends, a bounded number
/// of messages ahead of the keeper's acknowledgements. A keeper that does not acknowledge in time is left, and another one
/// is looked for, which is sent everything anew. Something is kept once the keeper has acknowledged it, and as long as
/// it is connected.
final class KeeperLink {
  enum State {
    /// Nobody keeps anything; when to look for a keeper. → attaching, up, over
    case down(until: Instant)
    /// A keeper is connected, and has not answered yet. It has been sent nothing else. → up, down, over
    case attaching(KeeperChannel)
    /// → down, over
    case up(KeeperChannel)
    /// Nobody is to go on with the bus. Final.
    case over
  }

  /// Whether another bus wants the place of this one. The keeper waits for an answer then.
  enum Wish: Equatable {
    /// → heard
    case none
    /// It knows logs up to this version, and nobody has looked at that yet. → promised, none
    case heard(logVersion: UInt32)
    /// The bus hands over. → none
    case promised
  }

  private struct Entry {
    enum Progress {
      /// → sent
      case waiting
      /// → kept, refused, waiting
      case sent
      /// The keeper has no space for it. → waiting
      case refused
      /// → waiting
      case kept
    }

    let descriptor: CInt
    /// Whether the descriptor is this entry's to close.
    let isOwned: Bool
    var progress = Progress.waiting
  }

  /// A message that the keeper has not acknowledged.
  enum Sent {
    case attach
    case batch([KeptItem])
    case forget
  }

  /// How long the keeper may take to acknowledge a message.
  private static let patienceNanoseconds: UInt64 = 5_000_000_000
  private static let retryNanoseconds: UInt64 = 200_000_000
  /// Ended items that wait to be told.
  private static let forgettingMax = 65_536

  let path: String
  let log: Log
  private let loop: EventLoop
  /// Nil where no service manager keeps anything.
  private let manager: ManagerStore?
  private let clock: () -> Instant
  var state = State.down(until: Instant(nanoseconds: 0))
  private var entries: [KeptItem: Entry] = [:]
  /// Items that wait, in order, from `waitingHead` on; some have been forgotten since.
  private var waiting: [KeptItem] = []
  private var waitingHead = 0
  private var forgetting: [KeptItem] = []
  /// Some have been forgotten since.
  private var refused: [KeptItem] = []
  private(set) var unacknowledged: [(sent: Sent, at: Instant)] = []
  /// When to send again what the kernel had no space for.
  private var retryAt: Instant?
  /// What the keeper gave, and the bus has not said yet whether it goes on with it.
  var given: Set<KeptItem> = []
  var wish = Wish.none
  /// Why the keeper does not serve this bus, as long as it says the same.
  private var lastRefusal: String?
  /// When everything was last sent anew, for the journal.
  private var refillBegan: Instant?
  /// Whether something has changed since the bus last looked: most iterations change nothing.
  let needsLook = Cell(true)
  /// The bus hands over: it needs the keeper until everything is kept.
  var isHandingOver = false

  /// - Parameter clock: says what time it is.
  init(
    path: String, manager: ManagerStore?, loop: EventLoop, log: Log,
    clock: @escaping () -> Instant = { Instant(nanoseconds: SystemClock.monotonicNanoseconds) }
  ) {
    (self.path, self.manager, self.loop, self.log, self.clock) = (path, manager, loop, log, clock)
  }

  isolated deinit {
    for entry in entries.values { close(entry) }
  }

  var now: Instant { clock() }

  // MARK: What is to be kept

  /// - Parameter descriptor: stays open until the item is forgotten.
  func keep(_ item: KeptItem, lending descriptor: CInt) {
    add(item, Entry(descriptor: descriptor, isOwned: false))
  }

  func keep(_ item: KeptItem, owning descriptor: consuming FileDescriptor) {
    add(item, Entry(descriptor: descriptor.release(), isOwned: true))
  }

  private func add(_ item: KeptItem, _ entry: Entry) {
    if let old = entries[item] { close(old) }
    var entry = entry
    if given.remove(item) != nil { entry.progress = .kept } else { wait(item) }
    entries[item] = entry
    needsLook.value = true
  }

  /// Without a keeper, nothing is queued: another one is sent all that there is by then.
  private func wait(_ item: KeptItem) {
    switch state {
    case .attaching, .up: waiting.append(item)
    case .down, .over: break
    }
  }

  func forget(_ item: KeptItem) {
    needsLook.value = true
    guard let entry = entries.removeValue(forKey: item) else {
      if given.remove(item) != nil { forgetting.append(item) }
      return
    }
    close(entry)
    switch (entry.progress, state) {
    case (.waiting, _), (.refused, _), (_, .down), (_, .over): break
    case (.sent, _), (.kept, _):
      forgetting.append(item)
      offerRefused()
    }
  }

  /// What is forgotten leaves a place to something for which there was none.
  private func offerRefused() {
    while let item = refused.popLast() {
      guard case .refused? = entries[item]?.progress else { continue }
      entries[item]?.progress = .waiting
      return wait(item)
    }
  }

  private func close(_ entry: Entry) {
    if entry.isOwned { FileDescriptor(owning: entry.descriptor).close() }
  }

  /// Has the keeper forget what it gave and the bus does not go on with.
  func forgetRest() {
    forgetting += given.sorted()
    given = []
    needsLook.value = true
  }

  func isKept(_ item: KeptItem) -> Bool { entries[item]?.progress == .kept }

  var keptCount: Int { entries.values.count { $0.progress == .kept } }

  /// Connections that were sent, and not acknowledged.
  var unkeptConnections: [KeptItem] {
    entries.filter { $0.key.kind == .connection && $0.value.progress == .sent }.keys.sorted()
  }

  var keepsAll: Bool { entries.values.allSatisfy { $0.progress == .kept } }
  private var channel: KeeperChannel? {
    switch state {
    case .attaching(let channel), .up(let channel): channel
    case .down, .over: nil
    }
  }
  var isUp: Bool { if case .up = state { true } else { false } }
  /// Whether the keeper has acknowledged everything.
  var isSettled: Bool { isUp && unacknowledged.isEmpty && forgetting.isEmpty && waitingHead == waiting.count }

  /// Whether there is something to send, and the keeper may be sent something.
  var hasWork: Bool {
    (!forgetting.isEmpty || waitingHead < waiting.count) && unacknowledged.count < KeeperMessage.windowMax
  }

  func keep(log: CInt) {
    keep(.log(FileDescriptor.lending(log) { $0.inode } ?? 0), lending: log)
  }

  // MARK: The service manager

  var isManaged: Bool { manager != nil }

  /// Leaves the log with the service manager as well.
  func store(log: CInt) { manager?.store(log: log) }

  /// Has the service manager drop what it has under a name.
  func removeStored(_ name: String) { manager?.remove(name) }

  // MARK: Sending

  /// Sends what waits, at the end of an iteration in which something has changed.
  ///
  /// - Returns: when `tick` is to be called; nil if there is no need.
  func look() -> Instant? {
    needsLook.value = false
    flush()
    guard let due = manager?.nextDue else { return nextDue }
    return min(due, nextDue ?? due)
  }

  /// Sends what waits, as far as the keeper has acknowledged enough.
  func flush() {
    if forgetting.count > Self.forgettingMax { leave(because: "it does not keep up") }
    retryAt = nil
    while case .up(let channel) = state, hasWork {
      guard !sendNext(over: channel) else { continue }
      // Nothing that the keeper says would have this tried again.
      if unacknowledged.isEmpty, hasWork { retryAt = now.advanced(byNanoseconds: Self.retryNanoseconds) }
      return
    }
  }

  /// - Returns: false if there is nothing to send, or no space for it.
  private func sendNext(over channel: KeeperChannel) -> Bool {
    if !forgetting.isEmpty {
      // What was sent once and is sent again comes behind this.
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

  /// The keeper has said something, or has gone.
  func isReady() {
    needsLook.value = true
    while true {
      guard let channel else { return }
      do throws(KeeperChannel.Failure) {
        guard case .message(let message, let passed) = try channel.receive() else { break }
        guard passed.isEmpty else { throw .malformed("descriptors that nobody has asked for") }
        try take(message, from: channel)
      } catch {
        return leave(because: "\(error)")
      }
    }
    flush()
  }

  private func take(_ message: KeeperMessage, from channel: KeeperChannel) throws(KeeperChannel.Failure) {
    switch message {
    case .taken(let count):
      guard !unacknowledged.isEmpty else { throw .malformed("an acknowledgement of nothing") }
      switch unacknowledged.removeFirst().sent {
      case .attach:
        (state, lastRefusal) = (.up(channel), nil)
        renewLease()
      case .forget: break
      case .batch(let items): try acknowledge(items, count)
      }
      noteRefilled()
    case .leaving:
      // It is needed until the next daemon has everything.
      guard !isHandingOver else { return }
      leave(because: "it is to end", isExpected: true)
    case .wanted(let logVersion):
      guard wish == .none else { throw .malformed("what is not to be said now") }
      wish = .heard(logVersion: logVersion)
    // It hangs up next.
    case .refusal(let reason):
      if reason != lastRefusal { log.notice("the keeper says: \(reason)") }
      lastRefusal = reason
    case .attach, .batch, .forget, .end, .over, .yours, .ready: throw .malformed("what is not to be said now")
    }
  }

  private func acknowledge(_ items: [KeptItem], _ count: Int) throws(KeeperChannel.Failure) {
    guard count <= items.count else { throw .malformed("\(count) of \(items.count) descriptors were taken") }
    for (index, item) in items.enumerated() where entries[item]?.progress == .sent {
      entries[item]?.progress = index < count ? .kept : .refused
      if index >= count { refused.append(item) }
    }
    guard count < items.count else { return }
    log.warning("the keeper has no space for \((items.count - count).counted("descriptor"))")
  }

  private func noteRefilled() {
    guard let began = refillBegan, unacknowledged.isEmpty, waitingHead == waiting.count else { return }
    refillBegan = nil
    let microseconds = now.nanoseconds(since: began) / 1000
    log.info("the keeper has \(keptCount.counted("descriptor")), sent in \(microseconds) µs")
  }

  // MARK: Coming and going

  /// When `tick` is to be called; nil if there is no need.
  var nextDue: Instant? {
    switch state {
    case .down(let until): until
    case .attaching, .up:
      retryAt ?? unacknowledged.first?.at.advanced(byNanoseconds: Self.patienceNanoseconds)
    case .over: nil
    }
  }

  /// Looks for a keeper, or leaves one that does not answer.
  func tick(at now: Instant) {
    manager?.tick(at: now)
    needsLook.value = true
    guard let due = nextDue, due <= now else { return }
    if case .down = state { return attach() }
    if retryAt != nil { return flush() }
    // It may have answered while this process was stopped.
    isReady()
    // In a hand-over, there is no time for another one, and this one may still take everything.
    guard !isHandingOver, let due = nextDue, due <= now, channel != nil else { return }
    leave(because: "it has not answered in time")
  }

  private func attach() {
    do throws(KeeperChannel.Failure) {
      let channel = try KeeperChannel.connect(to: path)
      try watch(channel)
      state = .attaching(channel)
      refillBegan = now
      // The log first: without it, nothing else is of use.
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

  /// Makes a new pair for each bus and each keeper: of an earlier one, an end may be lost. The service manager drops a pair
  /// whose other end is closed.
  func renewLease() {
    guard let manager else { return }
    do throws(Errno) {
      let pair = try UnixSocket.makePair()
      let one = try pair.one.duplicate().release()
      manager.store(lease: pair.other.rawValue) { [weak self] isSent in
        let descriptor = FileDescriptor(owning: one)
        // A lease that ended with this process would be the end of what the keeper has.
        if isSent, let self { keep(.lease, owning: descriptor) } else { descriptor.close() }
      }
    } catch {
      log.warning("there can be no lease: \(error)")
    }
  }

  func leave(because reason: String, isExpected: Bool = false) {
    guard let channel else { return }
    // Nobody else is to go on with what it has, now or when it comes to read this.
    sayOver(on: channel)
    loop.unwatch(channel.rawValue)
    log.write(
      isUp ? (isExpected ? .info : .warning) : .debug,
      "no connection survives a restart until there is another keeper: this one is left, because \(reason)")
    state = .down(until: now.advanced(byNanoseconds: Self.retryNanoseconds))
    unacknowledged = []
    retryAt = nil
    (forgetting, refused) = ([], [])
    given = []
    wish = .none
    if let lease = entries.removeValue(forKey: .lease) { close(lease) }
    for item in entries.keys { entries[item]?.progress = .waiting }
    (waiting, waitingHead) = ([], 0)
  }

  /// Nobody is to go on with the bus.
  func end() {
    if let channel {
      if isUp { sayOver(on: channel) }
      loop.unwatch(channel.rawValue)
    }
    state = .over
  }

  func sayOver(on channel: KeeperChannel) {
    do throws(KeeperChannel.Failure) {
      _ = try channel.send(.over)
    } catch {
      log.debug("the keeper does not learn that nobody is to go on with what it has: \(error)")
    }
  }
}
