// SPDX-License-Identifier: Apache-2.0

package import TribuneCore

/// For whom the keeper keeps what it has, and until when: a state machine without I/O. `Keeper` performs what it says.
nonisolated package struct Tenure: Equatable {
  /// A bus's connection to the keeper.
  package typealias Bus = Int

  package enum State: Equatable {
    /// Nothing is kept. → owned
    case vacant
    /// A bus is connected. → awaited, vacant, yielding
    case owned(by: Bus)
    /// Another bus wants the place of the one that is connected, which has been asked for it. → yielded, askedInVain,
    /// owned, vacant
    case yielding(from: Bus, to: Bus)
    /// The other bus has gone before there was an answer. Until there is one, nobody else asks: it would be taken for
    /// the answer to that. → owned, awaited, vacant
    case askedInVain(Bus)
    /// The bus has given its place, and waits. → owned, awaited, vacant
    case yielded(from: Bus, to: Bus)
    /// The bus has gone, and another one is awaited: until then, or for as long as somebody has the lease. → owned,
    /// vacant
    case awaited(until: Instant?)
  }

  package enum Ending: Equatable {
    case no
    /// The keeper is to end, by then at the latest. Final.
    case wanted(by: Instant)
  }

  package enum Action: Equatable {
    case nothing
    /// Close everything that is kept.
    case clear
    /// Close everything, and go on with this bus.
    case serveAnew(Bus)
    /// Give everything to this bus, and go on with it.
    case give(Bus)
    case refuse(Bus, String)
    case clearAndRefuse(Bus, String)
    /// Ask this bus for its place.
    case askToYield(Bus)
    /// Tell this bus that it keeps its place.
    case leaveInPlace(Bus, String)
    /// Ask this bus to go on without this keeper, which is to end.
    case askToLeave(Bus)
    case exit
  }

  /// How long a bus is awaited where no lease says whether one is to come.
  package static let patienceNanoseconds: UInt64 = 30_000_000_000
  /// How long the keeper stays when it is to end, and somebody still needs it.
  package static let endingNanoseconds: UInt64 = 8_000_000_000

  package private(set) var state = State.vacant
  package private(set) var ending = Ending.no
  private var hasLease = false

  package init() {}

  package enum Attachment {
    case begins
    /// - Parameter isKept: whether what is kept is what the bus means.
    case resumes(isKept: Bool)
    case replaces
  }

  package mutating func attach(_ bus: Bus, _ attachment: Attachment) -> Action {
    switch (state, attachment) {
    case (.owned(let other), .replaces):
      state = .yielding(from: other, to: bus)
      return .askToYield(other)
    case (.owned, _), (.yielding, _), (.askedInVain, _), (.yielded, _):
      return .refuse(bus, "another bus is served")
    case (.awaited, .resumes(isKept: true)), (.awaited, .replaces):
      state = .owned(by: bus)
      return .give(bus)
    case (.awaited, _), (.vacant, _): return serveAnew(bus)
    }
  }

  private mutating func serveAnew(_ bus: Bus) -> Action {
    state = .owned(by: bus)
    hasLease = false
    // The bus has everything, and finds another keeper.
    return ending == .no ? .serveAnew(bus) : .exit
  }

  /// The bus that is served, or that waits while another one takes its place.
  package var owner: Bus? {
    switch state {
    case .owned(let bus), .yielding(let bus, _), .askedInVain(let bus), .yielded(let bus, _): bus
    case .vacant, .awaited: nil
    }
  }

  // MARK: Replacing

  /// The bus that was asked for its place has everything kept, and waits to hear what comes of it.
  package mutating func yields(_ bus: Bus) -> Action {
    switch state {
    case .yielding(bus, let other):
      state = .yielded(from: bus, to: other)
      return .give(other)
    case .askedInVain(bus):
      state = .owned(by: bus)
      return .leaveInPlace(bus, Self.hasGone)
    default: return .nothing
    }
  }

  /// It does not give its place.
  package mutating func refuses(_ bus: Bus, _ reason: String) -> Action {
    switch state {
    case .yielding(bus, let other):
      state = .owned(by: bus)
      return .refuse(other, reason)
    case .askedInVain(bus):
      state = .owned(by: bus)
      return .nothing
    default: return .nothing
    }
  }

  /// The bus that was in the place knows that it has lost it.
  package mutating func passPlace() {
    guard case .yielded(_, let bus) = state else { preconditionFailure("nobody replaces anybody") }
    state = .owned(by: bus)
  }

  // MARK: Ending

  /// The bus that is served has everything that was given, or goes on in its place.
  package func asksToLeave() -> Action {
    if case .owned(let bus) = state, ending != .no { .askToLeave(bus) } else { .nothing }
  }

  package mutating func leaseCame() { hasLease = true }

  /// Whoever had the other end of the lease has closed it.
  package mutating func leaseEnded() -> Action {
    hasLease = false
    guard case .awaited = state else { return .nothing }
    return vacate()
  }

  /// A connection has ended.
  package mutating func depart(_ bus: Bus, at now: Instant) -> Action {
    switch state {
    case .owned(by: bus):
      state = awaited(at: now)
      return .nothing
    // It has left everything, or died: the other one goes on with it.
    case .yielding(from: bus, let other):
      state = .owned(by: other)
      return .give(other)
    case .yielded(from: bus, let other):
      state = awaited(at: now)
      return .refuse(other, "the bus that was asked for its place has gone")
    case .askedInVain(bus):
      state = awaited(at: now)
      return .nothing
    case .yielding(let other, to: bus):
      state = .askedInVain(other)
      return .nothing
    case .yielded(let other, to: bus):
      state = .owned(by: other)
      return .leaveInPlace(other, Self.hasGone)
    case .vacant, .awaited, .owned, .yielding, .askedInVain, .yielded: return .nothing
    }
  }

  private static let hasGone = "the one that wanted the place has gone"

  private func awaited(at now: Instant) -> State {
    .awaited(until: hasLease ? nil : now.advanced(byNanoseconds: Self.patienceNanoseconds))
  }

  /// The bus says that nobody is to go on with what is kept: it has ended for good, or goes on without this keeper. One
  /// that is to end can do so then.
  package mutating func over(_ bus: Bus) -> Action {
    switch state {
    case .owned(by: bus), .askedInVain(bus): return vacate()
    case .yielding(from: bus, let other), .yielded(from: bus, let other):
      _ = vacate()
      return .clearAndRefuse(other, "the bus that was asked for its place has left the keeper")
    default: return .nothing
    }
  }

  /// The keeper is to end. It stays while it has what nobody else has.
  package mutating func end(at now: Instant) -> Action {
    if ending == .no { ending = .wanted(by: now.advanced(byNanoseconds: Self.endingNanoseconds)) }
    return switch state {
    case .vacant: .exit
    case .owned(let bus): .askToLeave(bus)
    // It is asked when one of the two has the place.
    case .yielding, .askedInVain, .yielded: .nothing
    case .awaited: .nothing
    }
  }

  /// When `tick` is to be called; nil if there is no need.
  package var nextDue: Instant? {
    var due: Instant?
    if case .awaited(let until?) = state { due = until }
    if case .wanted(let by) = ending { due = min(due ?? by, by) }
    return due
  }

  package mutating func tick(at now: Instant) -> Action {
    if case .wanted(let by) = ending, by <= now { return .exit }
    if case .awaited(let until?) = state, until <= now { return vacate() }
    return .nothing
  }

  private mutating func vacate() -> Action {
    state = .vacant
    hasLease = false
    return ending == .no ? .clear : .exit
  }
}
