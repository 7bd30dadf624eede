// SPDX-License-Identifier: Apache-2.0

package import TribuneCore

/// Decides for which bus the keeper keeps its descriptors, and until when: a state machine without I/O.
///
/// `Keeper` performs its actions.
nonisolated package struct KeeperState: Equatable {
  /// Identifies the connection of a bus to the keeper.
  package typealias BusID = Int

  package enum Phase: Equatable {
    /// Nothing is kept. → owned
    case vacant
    /// A bus is connected. → awaited, vacant, yielding
    case owned(by: BusID)
    /// Another bus wants the place of the connected one, which was asked for it. → yielded, askedInVain, owned, vacant
    case yielding(from: BusID, to: BusID)
    /// The other bus has gone before there was an answer. Until the answer comes, no other bus may ask, because it
    /// would take this answer for its own. → owned, awaited, vacant
    case askedInVain(BusID)
    /// The bus has given up its place, and waits. → owned, awaited, vacant
    case yielded(from: BusID, to: BusID)
    /// The bus has gone, and another one is awaited: until this time or, if it is nil, for as long as the lease lasts.
    /// → owned, vacant
    case awaited(until: Instant?)
  }

  package enum Action: Equatable {
    case nothing
    /// Close all descriptors.
    case clear
    /// Close all descriptors, and serve this bus.
    case serveAnew(BusID)
    /// Give all descriptors to this bus, and serve it.
    case give(BusID)
    case refuse(BusID, String)
    case clearAndRefuse(BusID, String, exits: Bool)
    /// Ask this bus for its place.
    case askToYield(BusID)
    /// Tell this bus that it keeps its place.
    case leaveInPlace(BusID, String)
    /// Ask this bus to continue without this keeper, which must end.
    case askToLeave(BusID)
    case exit
  }

  /// How long a bus is awaited if no lease says whether one will come.
  package static let waitLimitNanoseconds: UInt64 = 30_000_000_000
  /// How long a keeper that must end stays at most, because a bus still needs it.
  package static let endingNanoseconds: UInt64 = 8_000_000_000

  package private(set) var phase = Phase.vacant
  /// When the keeper ends at the latest; nil unless it must end. Final once it is set.
  package private(set) var endsBy: Instant?
  private var hasLease = false

  package init() {}

  package enum Attachment {
    case begin
    /// - Parameter isKept: whether the keeper has the log that the bus wants to resume with.
    case resume(isKept: Bool)
    case replace
  }

  package mutating func attach(_ bus: BusID, _ attachment: Attachment) -> Action {
    switch (phase, attachment) {
    case (.owned(let other), .replace):
      phase = .yielding(from: other, to: bus)
      return .askToYield(other)
    case (.owned, _), (.yielding, _), (.askedInVain, _), (.yielded, _):
      return .refuse(bus, "another bus is served")
    case (.awaited, .resume(isKept: true)), (.awaited, .replace):
      phase = .owned(by: bus)
      return .give(bus)
    case (.awaited, _), (.vacant, _):
      phase = .owned(by: bus)
      hasLease = false
      // The bus has all descriptors itself. So a keeper that must end can end, and the bus finds another one.
      return endsBy == nil ? .serveAnew(bus) : .exit
    }
  }

  /// The bus that is served, or that waits while another bus takes its place.
  package var owner: BusID? {
    switch phase {
    case .owned(let bus), .yielding(let bus, _), .askedInVain(let bus), .yielded(let bus, _): bus
    case .vacant, .awaited: nil
    }
  }

  // MARK: Replacing

  /// The bus that was asked for its place has handed everything over, and waits for the outcome.
  package mutating func yield(_ bus: BusID) -> Action {
    switch phase {
    case .yielding(bus, let other):
      phase = .yielded(from: bus, to: other)
      return .give(other)
    case .askedInVain(bus):
      phase = .owned(by: bus)
      return .leaveInPlace(bus, Self.hasGone)
    default: return .nothing
    }
  }

  /// The bus that was asked for its place keeps it.
  package mutating func refuse(_ bus: BusID, _ reason: String) -> Action {
    switch phase {
    case .yielding(bus, let other):
      phase = .owned(by: bus)
      return .refuse(other, reason)
    case .askedInVain(bus):
      phase = .owned(by: bus)
      return .nothing
    default: return .nothing
    }
  }

  /// The bus that gave up its place knows that it has lost it.
  package mutating func passPlace() {
    guard case .yielded(_, let bus) = phase else { preconditionFailure("no bus has yielded its place") }
    phase = .owned(by: bus)
  }

  // MARK: Ending

  /// Asks the bus to leave, if the keeper must end. Called when the bus has been given everything, or keeps its place.
  package func askToLeaveIfEnding() -> Action {
    if case .owned(let bus) = phase, endsBy != nil { .askToLeave(bus) } else { .nothing }
  }

  package mutating func beginLease() { hasLease = true }

  /// The other end of the lease is closed.
  package mutating func endLease() -> Action {
    hasLease = false
    guard case .awaited = phase else { return .nothing }
    return vacate()
  }

  /// A connection has ended.
  package mutating func depart(_ bus: BusID, at now: Instant) -> Action {
    switch phase {
    case .owned(by: bus):
      phase = awaited(at: now)
      return .nothing
    // The bus has handed everything over, or died: the other bus resumes it.
    case .yielding(from: bus, let other):
      phase = .owned(by: other)
      return .give(other)
    case .yielded(from: bus, let other):
      phase = awaited(at: now)
      return .refuse(other, "the bus to be replaced has gone")
    case .askedInVain(bus):
      phase = awaited(at: now)
      return .nothing
    case .yielding(let other, to: bus):
      phase = .askedInVain(other)
      return .nothing
    case .yielded(let other, to: bus):
      phase = .owned(by: other)
      return .leaveInPlace(other, Self.hasGone)
    case .vacant, .awaited, .owned, .yielding, .askedInVain, .yielded: return .nothing
    }
  }

  private static let hasGone = "the bus that wanted the place has gone"

  private func awaited(at now: Instant) -> Phase {
    .awaited(until: hasLease ? nil : now.advanced(byNanoseconds: Self.waitLimitNanoseconds))
  }

  /// No other bus may resume what is kept, because this bus has ended for good, or continues without this keeper. A
  /// keeper that must end can end then.
  package mutating func finish(_ bus: BusID) -> Action {
    switch phase {
    case .owned(by: bus), .askedInVain(bus): return vacate()
    case .yielding(from: bus, let other), .yielded(from: bus, let other):
      let exits = vacate() == .exit
      return .clearAndRefuse(other, "the bus to be replaced has left the keeper", exits: exits)
    default: return .nothing
    }
  }

  /// The keeper must end. It stays while it is the only process that has the descriptors.
  package mutating func end(at now: Instant) -> Action {
    if endsBy == nil { endsBy = now.advanced(byNanoseconds: Self.endingNanoseconds) }
    return switch phase {
    case .vacant: .exit
    case .owned(let bus): .askToLeave(bus)
    // The bus that gets the place is asked when that is decided.
    case .yielding, .askedInVain, .yielded: .nothing
    case .awaited: .nothing
    }
  }

  /// When to call `tick`; nil if there is no need.
  package var nextDue: Instant? {
    guard case .awaited(let until?) = phase else { return endsBy }
    return min(until, endsBy ?? until)
  }

  package mutating func tick(at now: Instant) -> Action {
    if let endsBy, endsBy <= now { return .exit }
    if case .awaited(let until?) = phase, until <= now { return vacate() }
    return .nothing
  }

  private mutating func vacate() -> Action {
    phase = .vacant
    hasLease = false
    return endsBy == nil ? .clear : .exit
  }
}
