// SPDX-License-Identifier: Apache-2.0

import TribuneCore
package import TribuneSystem
import TribuneWire

/// Keeps copies of a bus's descriptors for the next daemon: `tribuned --keep`.
///
/// The keeper serves one bus at a time. If the next bus resumes the previous one, the keeper passes all
/// descriptors but the lease to the next bus. The keeper never reads from a kept descriptor.
package final class Keeper {
  /// The largest number of connected buses, including the served one.
  private static let peersMax = 4
  /// The largest number of messages that the keeper takes from one bus before other buses have their turn.
  private static let messagesPerTurn = 64

  private static let delayMilliseconds: CInt = 20
  /// How long the keeper stops accepting connections after it lacked descriptors or memory for one.
  private static let acceptPauseMilliseconds: UInt32 = 1000

  private enum Token {
    static let listener: UInt64 = 0
    static let signals: UInt64 = 1
    static let lease: UInt64 = 2
    static let firstPeer: UInt64 = 16
  }

  private typealias BusID = KeeperState.BusID

  private final class Peer {
    let channel: KeeperChannel
    var transfer: Transfer?

    init(_ channel: KeeperChannel) { self.channel = channel }
  }

  private struct Transfer {
    var unsent: ArraySlice<KeptItem>
    var unacknowledgedMessages = 0
    var sentCount = 0
  }

  private let log: Log
  private let epoll: Epoll
  private let listener: FileDescriptor
  private let signals: SignalDescriptor
  private let kept: KeptDescriptors
  private var state = KeeperState()
  private var peers: [BusID: Peer] = [:]
  private var nextPeer = BusID(Token.firstPeer)
  private var watchedLease: CInt?
  private var isTransferDelayed = false
  /// When the keeper accepts connections again; nil while it watches the listener.
  private var acceptsFrom: Instant?
  private var hasEnded = false
  private let beat: (() -> Void)?
  private let beatMilliseconds: CInt
  private var nextBeat = Instant(nanoseconds: 0)

  /// - Parameters:
  ///   - listener: a listening socket of type SOCK_SEQPACKET.
  ///   - isStepped: true to close descriptors at once, instead of on threads.
  package init(
    on listener: consuming FileDescriptor, endedBy signals: consuming SignalDescriptor, capacity: Int,
    log: Log, beatMilliseconds: CInt = -1, beat: (() -> Void)? = nil, isStepped: Bool = false
  ) throws(Errno) {
    try listener.setNonblocking()
    (self.log, self.beat, self.beatMilliseconds) = (log, beat, beatMilliseconds)
    kept = KeptDescriptors(capacity: capacity, hasThreads: !isStepped)
    epoll = try Epoll(capacity: 16)
    self.listener = listener
    self.signals = signals
    try epoll.add(self.listener.rawValue, for: .readable, token: Token.listener)
    try epoll.add(self.signals.rawValue, for: .readable, token: Token.signals)
  }

  /// Returns a socket that listens at `path`. Replaces a stale file there.
  package static func listener(at path: String) throws(Errno) -> FileDescriptor {
    let socket = try UnixSocket.makeForPackets()
    guard SocketFile.isSocket(at: path) != false else { throw .fileExists }
    // Without the lock, two keepers that start at the same time could both find a stale file. The second one
    // would then remove the first one's file.
    try Folder.withLock(Folder.parent(of: path)) { () throws(Errno) in
      do throws(Errno) {
        try UnixSocket.connect(try UnixSocket.makeForPackets(), to: path)
        throw Errno.addressInUse
      } catch {
        if error == .connectionRefused {
          try SocketFile.remove(at: path)
        } else if error != .noSuchFile {
          throw error
        }
      }
      try UnixSocket.bind(socket, to: path, mode: 0o600)
      try UnixSocket.listen(socket)
    }
    return socket
  }

  private var now: Instant { Instant(nanoseconds: SystemClock.monotonicNanoseconds) }

  package func run() throws(Errno) {
    while try turn(isWaiting: true) {}
  }

  package func turn(isWaiting: Bool) throws(Errno) -> Bool {
    let count = try epoll.wait(milliseconds: isWaiting ? waitLimitMilliseconds : 0)
    beatIfDue()
    // The order matters: a new bus must neither get descriptors whose lease (`KeptItem.Kind.lease`) has
    // ended, nor be refused because of a bus that has departed.
    for index in 0..<count where epoll.event(at: index).token == Token.lease { leaseEnded() }
    for index in 0..<count where epoll.event(at: index).token >= Token.firstPeer {
      receive(from: BusID(epoll.event(at: index).token))
    }
    for index in 0..<count {
      switch epoll.event(at: index).token {
      case Token.listener: try accept()
      case Token.signals:
        signals.clear()
        perform(state.end(at: now))
      default: break
      }
    }
    perform(state.tick(at: now))
    continueDelayedTransfers()
    try acceptAgain()
    return !hasEnded
  }

  package var items: [KeptItem] { kept.items }
  package var count: Int { kept.count }
  package func has(_ item: KeptItem) -> Bool { kept.has(item) }

  private func beatIfDue() {
    guard let beat, nextBeat <= now else { return }
    nextBeat = now.advanced(byMilliseconds: UInt32(beatMilliseconds) / 2)
    beat()
  }

  private var waitLimitMilliseconds: CInt {
    var limit = beatMilliseconds < 0 ? CInt.max : beatMilliseconds
    for due in [state.nextDue, acceptsFrom] {
      if let due { limit = min(limit, CInt(clamping: due.milliseconds(since: now))) }
    }
    if isTransferDelayed { limit = min(limit, Self.delayMilliseconds) }
    return limit == .max ? -1 : limit
  }

  private func perform(_ action: KeeperState.Action) {
    switch action {
    case .nothing: break
    case .clear: clear()
    case .serveAnew(let bus):
      clear()
      acknowledge(to: bus)
    case .give(let bus):
      log.info("passing \(kept.count.counted("descriptor")) to the next bus")
      peers[bus]?.transfer = Transfer(unsent: kept.items.filter { $0.kind != .lease }[...])
      continueTransfer(to: bus)
    case .refuse(let bus, let reason): refuse(bus, because: reason)
    case .askToLeave(let bus): send(.leaving, to: bus)
    case .exit: hasEnded = true
    }
  }

  private func clear() {
    if kept.count > 0 { log.info("closed \(kept.count.counted("descriptor"))") }
    unwatchLease()
    kept.clear()
  }

  // MARK: Buses

  private func accept() throws(Errno) {
    while let socket = try nextSocket() {
      do throws(KeeperChannel.Failure) {
        let channel = try KeeperChannel(socket)
        // `receive` removes buses that have ended.
        if peers.count == Self.peersMax { for bus in peers.keys.sorted() { receive(from: bus) } }
        guard peers.count < Self.peersMax else {
          _ = try channel.send(.refusal("too many buses are connected"))
          continue
        }
        try watch(channel.rawValue, token: UInt64(nextPeer))
        peers[nextPeer] = Peer(channel)
        nextPeer += 1
      } catch {
        log.warning("cannot accept a connection: \(error)")
      }
    }
  }

  private func nextSocket() throws(Errno) -> FileDescriptor? {
    do throws(Errno) {
      return try UnixSocket.accept(listener)
    } catch {
      guard error.isOutOfResources else { throw error }
      log.warning("not accepting connections for \(Self.acceptPauseMilliseconds) ms: \(error)")
      // While a connection waits, the listener is readable, and would wake this process constantly.
      try epoll.remove(listener.rawValue)
      acceptsFrom = now.advanced(byMilliseconds: Self.acceptPauseMilliseconds)
      return nil
    }
  }

  private func acceptAgain() throws(Errno) {
    guard let from = acceptsFrom, from <= now else { return }
    try epoll.add(listener.rawValue, for: .readable, token: Token.listener)
    acceptsFrom = nil
  }

  private func receive(from bus: BusID) {
    for _ in 0..<Self.messagesPerTurn {
      guard let peer = peers[bus] else { return }
      do throws(KeeperChannel.Failure) {
        switch try peer.channel.receive() {
        case .nothing: return
        case .message(let message, let passed): handle(message, passed, from: bus)
        }
      } catch {
        guard error != .ended else { return depart(bus) }
        log.warning("disconnecting a bus: \(error)")
        return refuse(bus, because: "\(error)")
      }
    }
  }

  private func handle(_ message: KeeperMessage, _ passed: consuming PassedDescriptors, from bus: BusID) {
    switch message {
    case .attach(let attachment): attach(bus, attachment)
    case .batch, .forget, .finished:
      guard bus == state.owner else { return refuse(bus, because: "the bus is not attached") }
      handleFromOwner(message, passed, bus)
    case .acknowledged: handleAcknowledgement(of: bus)
    case .end, .leaving, .refusal:
      refuse(bus, because: "protocol error: only a keeper sends this message")
    }
  }

  private func attach(_ bus: BusID, _ attachment: KeeperAttachment) {
    if let owner = state.owner {
      guard owner != bus else { return refuse(bus, because: "the bus is attached already") }
      receive(from: owner)
    }
    switch attachment {
    case .begin: perform(state.attach(bus, .begin))
    case .resume(let log):
      perform(state.attach(bus, .resume(isKept: log == 0 || kept.has(.log(log)))))
    }
  }

  private func handleFromOwner(_ message: KeeperMessage, _ passed: consuming PassedDescriptors, _ bus: BusID)
  {
    switch message {
    case .batch(let items):
      if items.contains(.lease) { unwatchLease() }
      let count = kept.take(items, passed)
      if items.contains(.lease) { watchLease() }
      acknowledge(to: bus, count: count)
    case .forget(let items):
      if items.contains(.lease) { forgetLease() }
      kept.forget(items)
      acknowledge(to: bus)
    case .finished: perform(state.finish(bus))
    default: preconditionFailure("unexpected message from the owner")
    }
  }

  private func depart(_ bus: BusID) {
    guard let peer = peers.removeValue(forKey: bus) else { return }
    epoll.unwatch(peer.channel.rawValue)
    let wasOwner = bus == state.owner
    state.depart(bus, at: now)
    guard wasOwner, case .awaited(let until) = state.phase else { return }
    let span =
      until == nil ? "while its service runs" : "for \(KeeperState.waitLimitNanoseconds / 1_000_000_000) s"
    log.info("the bus has gone; keeping \(kept.count.counted("descriptor")) \(span)")
  }

  private func refuse(_ bus: BusID, because reason: String) {
    send(.refusal(reason), to: bus)
    drop(bus)
  }

  /// Disconnects a bus that continues without this keeper. Other buses must not get its descriptors.
  private func drop(_ bus: BusID) {
    if bus == state.owner { perform(state.finish(bus)) }
    depart(bus)
  }

  /// Drops the bus if its socket is full, because such a bus does not read. A bus that reads leaves at most
  /// `windowMax` messages unread, and its socket has space for these.
  private func send(_ message: KeeperMessage, to bus: BusID) {
    switch offer(message, to: bus) {
    case .sent, .ended: break
    case .full, .failed:
      log.warning("disconnecting a bus that does not read")
      drop(bus)
    }
  }

  private enum Offer {
    case sent
    case full
    case ended
    case failed
  }

  private func offer(_ message: KeeperMessage, passing descriptors: [CInt] = [], to bus: BusID) -> Offer {
    guard let peer = peers[bus] else { return .ended }
    do throws(KeeperChannel.Failure) {
      return try peer.channel.send(message, passing: descriptors) ? .sent : .full
    } catch {
      if error == .ended { return .ended }
      log.warning("cannot send to a bus: \(error)")
      return .failed
    }
  }

  private func acknowledge(to bus: BusID, count: Int = 0) { send(.acknowledged(count: count), to: bus) }

  // MARK: Transfers

  private func handleAcknowledgement(of bus: BusID) {
    guard let peer = peers[bus], let transfer = peer.transfer, transfer.unacknowledgedMessages > 0 else {
      return refuse(bus, because: "protocol error: nothing to acknowledge")
    }
    peer.transfer?.unacknowledgedMessages -= 1
    continueTransfer(to: bus)
  }

  private func continueTransfer(to bus: BusID) {
    while let peer = peers[bus], let transfer = peer.transfer {
      if transfer.unsent.isEmpty {
        guard transfer.unacknowledgedMessages == 0 else { return }
        peer.transfer = nil
        send(.end(count: transfer.sentCount), to: bus)
        return perform(state.askToLeaveIfEnding())
      }
      guard transfer.unacknowledgedMessages < KeeperMessage.windowMax else { return }
      let items = transfer.unsent.prefix(KeeperMessage.itemsMax).filter(kept.has)
      switch offer(.batch(items), passing: items.compactMap(kept.descriptor), to: bus) {
      case .sent: break
      case .full:
        isTransferDelayed = true
        return
      case .ended: return
      case .failed: return depart(bus)
      }
      peer.transfer = Transfer(
        unsent: transfer.unsent.dropFirst(KeeperMessage.itemsMax),
        unacknowledgedMessages: transfer.unacknowledgedMessages + 1,
        sentCount: transfer.sentCount + items.count)
    }
  }

  private func continueDelayedTransfers() {
    guard isTransferDelayed else { return }
    isTransferDelayed = false
    for bus in Array(peers.keys) { continueTransfer(to: bus) }
  }

  // MARK: The lease

  private func watchLease() {
    unwatchLease()
    guard let lease = kept.descriptor(of: .lease) else { return }
    do throws(KeeperChannel.Failure) {
      try watch(lease, token: Token.lease)
      watchedLease = lease
      state.beginLease()
    } catch {
      log.warning("cannot watch the lease: \(error)")
    }
  }

  private func unwatchLease() {
    guard let lease = watchedLease else { return }
    watchedLease = nil
    epoll.unwatch(lease)
  }

  private func leaseEnded() {
    guard let lease = watchedLease else { return }
    // The bus can have died, too. If the keeper forgot the lease before it noticed this death, it would wait
    // `waitLimitNanoseconds` for a next bus, which never comes.
    if let owner = state.owner { receive(from: owner) }
    guard watchedLease == lease else { return }
    forgetLease()
    kept.forget([.lease])
  }

  private func forgetLease() {
    guard watchedLease != nil else { return }
    unwatchLease()
    perform(state.endLease())
  }

  // MARK: Watching

  private func watch(_ descriptor: CInt, token: UInt64) throws(KeeperChannel.Failure) {
    do throws(Errno) {
      try epoll.add(descriptor, for: .readable, token: token)
    } catch {
      throw .failed(error)
    }
  }
}
