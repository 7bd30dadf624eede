// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneJSON
import TribuneWire

/// Posts the bus's own notifications. They never pause a poster: a slow observer loses notifications at once.
/// If posters are already paused for the observer, its losses begin only when `PaceMaxSec=` has passed.
extension Interpreter {
  func announce(_ announcement: Announcement) {
    switch announcement {
    case .didConnect(let id, let peer):
      announce("tribune.connection.didConnect", userInfo: peer.members(on: id))
    case .didDisconnect(let id, let peer, let reason):
      let because = reason.map { [("reason", JSONValue.string("\($0)"))] } ?? []
      announce("tribune.connection.didDisconnect", userInfo: peer.members(on: id) + because)
    case .didAttach(let delegate): announce("tribune.delegate.didAttach", about: delegate)
    case .didDetach(let delegate): announce("tribune.delegate.didDetach", about: delegate)
    case .didTake(let entry): announce("tribune.hold.didTake", about: entry)
    case .didChange(let entry): announce("tribune.hold.didChange", about: entry)
    case .didRelease(let entry, let isExpired):
      announce("tribune.hold.didRelease", about: entry, [("expired", .bool(isExpired))])
    case .didConclude(let ending):
      announce("tribune.query.didConclude", object: ending.object, userInfo: ending.members)
    case .didBegin(let action): announce("tribune.action.didBegin", about: action)
    case .didEnd(let action): announce("tribune.action.didEnd", about: action)
    case .didStopWaiting(let action): announce("tribune.action.didStopWaiting", about: action)
    case .didReload: announce("tribune.bus.didReload", userInfo: [])
    case .willStop: announce("tribune.bus.willStop", userInfo: [])
    }
  }

  func announceOverride(_ decision: Decision, of tail: QueryTail) {
    guard bus.value.isObserved else { return }
    let entry = VerdictEntry(decision, of: tail)
    announce("tribune.query.didOverride", object: entry.object, userInfo: entry.override)
  }

  func announceEvents() {
    // Each announcement can append events to this list.
    var index = 0
    while index < sender.events.value.count {
      switch sender.events.value[index] {
      case .lost(let count, let observer):
        if monitor.isWatched { monitor.showLoss(count, of: observer) }
      case .becameLossy(let observer, let isAnnounced): if isAnnounced { announceLossy(observer) }
      case .recovered(let observer, let lost): announceRecovery(of: observer, lost: lost)
      }
      index += 1
    }
    sender.events.value.removeAll(keepingCapacity: true)
  }

  private func announceLossy(_ observer: Session) {
    guard bus.value.isObserved else { return }
    announce(
      "tribune.observer.didBecomeLossy", userInfo: observer.peer.members(on: observer.id), isFlow: true)
  }

  private func announceRecovery(of observer: Session, lost: UInt64) {
    guard bus.value.isObserved else { return }
    announce(
      "tribune.observer.didRecover",
      userInfo: observer.peer.members(on: observer.id) + [("lost", .unsigned(lost))], isFlow: true)
  }

  private func announce(
    _ name: String, about hold: HoldEntry, _ rest: [(name: String, value: JSONValue)] = []
  ) {
    let followers = bus.value.followers(
      of: hold.pattern, object: hold.object, by: hold.connection,
      among: receivers(of: name, object: hold.object))
    guard !followers.isEmpty || monitor.isWatched else { return }
    let slice = encode(name, hold.object, hold.members + rest)
    deliver(slice, to: followers)
    show(slice, name, receivers: followers.count)
  }

  private func announce(_ name: String, about action: QueryEntry) {
    let followers = bus.value.followers(
      of: action.name, object: action.object, by: action.connection,
      among: receivers(of: name, object: action.object))
    guard !followers.isEmpty || monitor.isWatched else { return }
    let slice = encode(name, action.object, action.members)
    deliver(slice, to: followers)
    show(slice, name, receivers: followers.count)
  }

  private func announce(_ name: String, about delegate: DelegateRegistration) {
    let audiences = bus.value.followers(of: delegate, among: receivers(of: name, object: delegate.object))
    for (entry, receivers) in audiences {
      deliver(encode(name, delegate.object, entry.members), to: receivers)
    }
    guard monitor.isWatched else { return }
    let count = audiences.reduce(0) { $0 + $1.receivers.count }
    show(encode(name, delegate.object, delegate.entry.members), name, receivers: count)
  }

  /// - Parameter isFlow: true if the announcement is about a slow observer. If such an announcement makes a
  ///   receiver lossy, the bus does not announce this state: two slow receivers could cause endless
  ///   announcements.
  private func announce(
    _ name: String, object: String = "", userInfo: [(name: String, value: JSONValue)], isFlow: Bool = false
  ) {
    let receivers = receivers(of: name, object: object)
    guard !receivers.isEmpty || monitor.isWatched else { return }
    let slice = encode(name, object, userInfo)
    deliver(slice, to: receivers, isFlow: isFlow)
    show(slice, name, receivers: receivers.count, isFlow: isFlow)
  }

  private func encode(
    _ name: String, _ object: String, _ userInfo: [(name: String, value: JSONValue)]
  ) -> ByteSlice {
    let buffer = sender.bufferToEncode()
    let start = buffer.count
    buffer.appendFrame(
      Post(), serial: 0, name: name, object: object, text: JSONValue.object(userInfo).compact)
    return ByteSlice(buffer, start..<buffer.count)
  }

  private func deliver(_ slice: ByteSlice, to receivers: [Receiver], isFlow: Bool = false) {
    var run = RunToBuffer(slice, count: 1)
    for receiver in receivers {
      guard receiver.way == .now || receivesNow(receiver, &run) else { continue }
      sender.deliverWithoutPacing(slice, to: receiver.slot, isAnnounced: !isFlow)
      context.statistics.value.delivered += 1
    }
  }

  private func show(_ slice: ByteSlice, _ name: String, receivers: Int, isFlow: Bool = false) {
    guard monitor.isWatched else { return }
    monitor.showAnnouncement(slice, name: name, receivers: receivers, isAnnounced: !isFlow)
  }

  /// Returns true if the suspended receiver gets the notifications in `run` at once. If so, this method has
  /// already queued the receiver's buffered notifications. If false, the core has buffered or dropped `run`.
  func receivesNow(_ receiver: Receiver, _ run: inout RunToBuffer) -> Bool {
    let admission = bus.value.admit(receiver, &run)
    defer { recorder.storeAllBufferedCounts() }
    guard case .delivered(let flushed) = admission else { return false }
    if let flushed { enqueueBuffered(flushed, for: receiver.slot) }
    return true
  }

  private func receivers(of name: String, object: String) -> [Receiver] {
    let key = name + object
    do throws(WireError) {
      return try bus.value.receivers(of: key.utf8Bytes, nameLength: name.utf8.count, from: nil).receivers
    } catch {
      preconditionFailure("an announcement has an invalid name: \(error.message)")
    }
  }
}

nonisolated extension PeerIdentity {
  func members(on connection: ConnectionID) -> [(name: String, value: JSONValue)] {
    [
      ("connection", .string("\(connection)")), ("pid", .unsigned(UInt64(pid))),
      ("uid", .unsigned(UInt64(uid))), ("process", .string(process)),
    ] + units.members
  }
}

nonisolated extension DelegateEntry {
  fileprivate var members: [(name: String, value: JSONValue)] {
    [
      ("delegate", .unsigned(delegate.id.rawValue)), ("label", .string(delegate.label)),
      ("connection", .string("\(connection)")), ("respondsTo", .array(patterns.map { .string($0) })),
    ]
  }
}

nonisolated extension HoldEntry {
  fileprivate var members: [(name: String, value: JSONValue)] {
    [
      ("hold", .unsigned(delegate.id.rawValue)), ("label", .string(delegate.label)),
      ("pattern", .string(pattern)), ("why", .string(why)),
    ] + delegate.peer.members(on: connection)
  }
}

nonisolated extension QueryEntry {
  fileprivate var members: [(name: String, value: JSONValue)] {
    [
      ("query", .unsigned(id.rawValue)), ("name", .string(name)),
      ("elapsed", .seconds(.microseconds(Int64(age)))),
    ]
      + peer.members(on: connection)
  }
}

nonisolated extension QueryEnding {
  fileprivate var members: [(name: String, value: JSONValue)] {
    [
      ("query", .unsigned(query.rawValue)), ("name", .string(name)), ("verdict", .string("\(conclusion)")),
      ("mode", .string("\(mode)")), ("asker", .object(askerPeer.members(on: asker))),
      ("vetoCount", .unsigned(UInt64(vetoCount))),
      ("elapsed", .seconds(.nanoseconds(elapsedNanoseconds))),
    ]
  }
}
