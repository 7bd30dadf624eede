// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A query under way, as the bus sees it.
public struct QueryInfo: Hashable, Sendable {
  /// A hold against the query, or a delegate that takes part in the query.
  public struct Participant: Hashable, Sendable {
    public enum State: Hashable, Sendable {
      /// The bus asks other delegates first.
      case unasked
      /// The bus sends the question when the delegate's connection has fewer open questions.
      case queued
      case asked
      case settled(Outcome.Kind)
    }

    /// The id of the delegate or hold, which the bus never uses again; 0 for a missing required delegate.
    public var delegate: UInt64
    /// The id of the delegate's connection, such as `:7`; nil for a hold or a missing required delegate.
    public var connection: String?
    /// The participant's claimed name; may be empty.
    public var label: String
    /// See ``Asker/pid``.
    public var pid: Int32
    public var uid: UInt32
    public var process: String
    public var units: Units
    public var state: State
    /// The reason of the outcome; may be empty.
    public var reason: String
    /// The time that the query has waited for the participant, until now or until the outcome.
    public var elapsed: Duration
    /// The time until the participant times out; nil unless the query waits for the participant.
    public var remaining: Duration?
    /// True if the query waits for the participant now.
    public var isAwaited: Bool { state == .queued || state == .asked }
  }

  /// The query's id, which the bus never uses again.
  public var id: UInt64
  /// The id of the asker's connection, such as `:7`.
  public var connection: String
  /// See ``Asker/pid``.
  public var pid: Int32
  public var uid: UInt32
  public var process: String
  public var units: Units
  public var name: String
  /// The query's object; empty for none.
  public var object: String
  /// The mode; nil for a value query.
  public var mode: Mode?
  public var isDryRun: Bool
  /// The time since the query was asked.
  public var age: Duration
  /// The time until the asker's deadline.
  public var remaining: Duration
  /// The holds against the query, then the delegates in the chain's order. The list has at most 256
  /// participants. If not all delegates fit, those that the query waits for take precedence.
  public var participants: [Participant]
  /// The number of participants that the bus has not listed.
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
