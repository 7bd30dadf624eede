// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A query under way, as the bus sees it.
public struct QueryInfo: Hashable, Sendable {
  /// A hold against the query, or a delegate that takes part in it.
  public struct Participant: Hashable, Sendable {
    public enum State: Hashable, Sendable {
      /// Others are asked first.
      case unasked
      /// The question waits until the delegate has fewer other questions.
      case queued
      case asked
      case settled(Outcome.Kind)
    }

    /// The id of the delegate or hold, never reused; 0 for a required delegate that is not attached.
    public var delegate: UInt64
    /// `:N`; nil for a required delegate that is not attached.
    public var connection: String?
    /// May be empty.
    public var label: String
    /// See ``Asker/pid``.
    public var pid: Int32
    public var uid: UInt32
    public var process: String
    public var units: Units
    public var state: State
    /// The outcome's reason; may be empty.
    public var reason: String
    /// Up to now, or to the outcome.
    public var elapsed: Duration
    /// Until it times out; nil unless the query waits for it.
    public var remaining: Duration?
    /// The query waits for it now.
    public var isAwaited: Bool { state == .queued || state == .asked }
  }

  /// Never used again.
  public var id: UInt64
  /// `:N`.
  public var connection: String
  /// See ``Asker/pid``.
  public var pid: Int32
  public var uid: UInt32
  public var process: String
  public var units: Units
  public var name: String
  /// Empty for none.
  public var object: String
  /// Nil for a value query.
  public var mode: Mode?
  public var isDryRun: Bool
  /// Since it was asked.
  public var age: Duration
  /// Until the asker's deadline.
  public var remaining: Duration
  /// The holds against it, then delegates in the chain's order, including all awaited ones; 256 at most.
  public var participants: [Participant]
  /// Participants that the bus has not listed.
  public var omittedCount: Int
}

extension QueryInfo {
  init(_ entry: QueryEntry) {
    self.init(
      id: entry.id.rawValue, connection: entry.connection.description, pid: Int32(clamping: entry.peer.pid),
      uid: entry.peer.uid, process: entry.peer.process, units: Units(entry.peer.units), name: entry.name,
      object: entry.object, mode: Mode(entry.mode), isDryRun: entry.isDryRun,
      age: .microseconds(Int64(clamping: entry.age)),
      remaining: .microseconds(Int64(clamping: entry.remaining)),
      participants: entry.participants.map { Participant($0) }, omittedCount: Int(entry.omittedCount))
  }
}

extension QueryInfo.Participant {
  init(_ participant: QueryParticipant) {
    let peer = participant.delegate.peer
    let state: State =
      switch participant.state {
      case .unasked: .unasked
      case .queued: .queued
      case .asked: .asked
      case .settled: .settled(Outcome.Kind(participant.outcome))
      }
    self.init(
      delegate: participant.delegate.id.rawValue,
      connection: participant.connection == .bus ? nil : participant.connection.description,
      label: participant.delegate.label, pid: Int32(clamping: peer.pid), uid: peer.uid, process: peer.process,
      units: Units(peer.units), state: state, reason: participant.reason,
      elapsed: .microseconds(Int64(clamping: participant.elapsed)), remaining: nil)
    if isAwaited { remaining = .microseconds(Int64(clamping: participant.remaining)) }
  }
}
