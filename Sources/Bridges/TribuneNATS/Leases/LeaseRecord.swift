// SPDX-License-Identifier: Apache-2.0

/// Who has a lease: what NATS keeps of it, as a value without I/O.
///
/// A host has a lease at most once, and so has a client of FleetLock. What a host does under it is one command at a time.
nonisolated package struct LeaseRecord: Equatable, Sendable {
  package static let slotsMax = 64

  package enum Change: Equatable, Sendable {
    /// - Parameter slots: how many hosts may have the lease at a time.
    case acquire(LeaseOwner, slots: Int)
    /// The host does not need it any more.
    ///
    /// - Parameters:
    ///   - machine: that of the host.
    ///   - id: of the acquisition that has ended; nil for whichever it was.
    case release(host: String, machine: String, id: String?)
    /// Somebody takes it from the host.
    case remove(host: String)
  }

  package enum Effect: Equatable, Sendable {
    /// The record has changed. The first owner is the one that was added, or removed; the second one, what the host had
    /// before.
    case changed(LeaseOwner, before: LeaseOwner?)
    /// Others have it, or this host has it for a command that still runs.
    case busy
    /// The host does not have it, or not by that acquisition.
    case absent
    case refused(String)
  }

  package var slots = 1
  package var owners: [LeaseOwner] = []

  package init() {}

  /// - Parameter isRunning: whether the process of an owner, which is this host, still runs.
  package mutating func apply(_ change: Change, isRunning: (LeaseOwner) -> Bool) -> Effect {
    switch change {
    case .acquire(let owner, let slots): acquire(owner, slots, isRunning)
    case .release(let host, let machine, let id): release(host, machine, id, isRunning)
    case .remove(let host): remove(host)
    }
  }

  private mutating func acquire(
    _ owner: LeaseOwner, _ slots: Int, _ isRunning: (LeaseOwner) -> Bool
  ) -> Effect {
    let others = owners.filter { $0.host != owner.host }
    let own = owners.first { $0.host == owner.host }
    guard others.isEmpty || slots == self.slots else {
      return .refused(
        "it has \(self.slots == 1 ? "1 slot" : "\(self.slots) slots") as long as \(others[0].host) has it")
    }
    var owner = owner
    if let own {
      guard own.machine == owner.machine else { return Self.isOfAnother(own) }
      guard own.id == owner.id || !isRunning(own) else { return .busy }
      owner.since = own.since
    } else if others.count >= slots {
      return .busy
    }
    self.slots = slots
    owners = others + [owner]
    return .changed(owner, before: own)
  }

  private mutating func release(
    _ host: String, _ machine: String, _ id: String?, _ isRunning: (LeaseOwner) -> Bool
  ) -> Effect {
    guard let own = owners.first(where: { $0.host == host }), id == nil || id == own.id else {
      return .absent
    }
    guard own.machine == machine else { return Self.isOfAnother(own) }
    if id == nil, isRunning(own) {
      return .refused("process \(own.pid) (\(own.label)) on this host still runs under it")
    }
    return remove(host)
  }

  private static func isOfAnother(_ owner: LeaseOwner) -> Effect {
    .refused(
      "another machine has it that is called \(owner.host), too, or this one had another machine-id(5)")
  }

  private mutating func remove(_ host: String) -> Effect {
    guard let index = owners.firstIndex(where: { $0.host == host }) else { return .absent }
    let owner = owners.remove(at: index)
    return .changed(owner, before: owner)
  }
}
