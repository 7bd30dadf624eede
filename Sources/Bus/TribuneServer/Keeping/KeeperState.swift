// SPDX-License-Identifier: Apache-2.0

package import TribuneCore

/// Decides which bus the keeper serves, and how long the keeper waits for the next bus. A state machine
/// without I/O.
nonisolated package struct KeeperState: Equatable {
  package typealias BusID = Int

  /// An arrow names the states that may follow.
  package enum Phase: Equatable {
    /// → owned
    case vacant
    /// → awaited, vacant
    case owned(by: BusID)
    /// Waits for a bus until this time; if nil, until the lease (`KeptItem.Kind.lease`) ends. → owned, vacant
    case awaited(until: Instant?)
  }

  package enum Action: Equatable {
    case nothing
    case clear
    case serveAnew(BusID)
    case give(BusID)
    case refuse(BusID, String)
    case askToLeave(BusID)
    case exit
  }

  /// How long a keeper without a lease waits for the next bus.
  package static let waitLimitNanoseconds: UInt64 = 30_000_000_000
  package static let endingNanoseconds: UInt64 = 8_000_000_000

  package private(set) var phase = Phase.vacant
  /// The latest time at which the keeper exits; nil unless it must end. Once set, this time does not change.
  package private(set) var endsBy: Instant?
  private var hasLease = false

  package init() {}

  package enum Attachment {
    case begin
    case resume(isKept: Bool)
  }

  package mutating func attach(_ bus: BusID, _ attachment: Attachment) -> Action {
    switch (phase, attachment) {
    case (.owned, _):
      return .refuse(bus, "another bus is served")
    case (.awaited, .resume(isKept: true)):
      phase = .owned(by: bus)
      return .give(bus)
    case (.awaited, _), (.vacant, _):
      phase = .owned(by: bus)
      hasLease = false
      // This bus has all its descriptors itself, and can find another keeper. So if this keeper must end, it
      // exits at once instead of serving the bus.
      return endsBy == nil ? .serveAnew(bus) : .exit
    }
  }

  package var owner: BusID? { if case .owned(let bus) = phase { bus } else { nil } }

  // MARK: Ending

  /// Must be called when the keeper has given the bus everything.
  package func askToLeaveIfEnding() -> Action {
    if case .owned(let bus) = phase, endsBy != nil { .askToLeave(bus) } else { .nothing }
  }

  package mutating func beginLease() { hasLease = true }

  package mutating func endLease() -> Action {
    hasLease = false
    guard case .awaited = phase else { return .nothing }
    return vacate()
  }

  package mutating func depart(_ bus: BusID, at now: Instant) {
    guard owner == bus else { return }
    phase = .awaited(until: hasLease ? nil : now.advanced(byNanoseconds: Self.waitLimitNanoseconds))
  }

  /// Must be called if no other bus may resume `bus`, or if `bus` has left this keeper: other buses must not
  /// get the descriptors.
  package mutating func finish(_ bus: BusID) -> Action { owner == bus ? vacate() : .nothing }

  /// Ends the keeper. While a bus is attached or awaited, the keeper stays for at most `endingNanoseconds`.
  package mutating func end(at now: Instant) -> Action {
    if endsBy == nil { endsBy = now.advanced(byNanoseconds: Self.endingNanoseconds) }
    return switch phase {
    case .vacant: .exit
    case .owned(let bus): .askToLeave(bus)
    case .awaited: .nothing
    }
  }

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
