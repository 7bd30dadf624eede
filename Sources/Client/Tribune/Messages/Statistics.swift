// SPDX-License-Identifier: Apache-2.0

import TribuneWire

public struct OutcomeCounts: Hashable, Sendable {
  public var approved: Int
  public var vetoed: Int
  public var abstained: Int
  public var timedOut: Int
  /// The number of participants that left before they answered.
  public var gone: Int
  public var failed: Int
  public var held: Int
  /// The number of delegates that gave a value, or of observers that acknowledged their notification.
  public var answered: Int
}

/// Counts of the queries with one name since the bus started. Dry runs do not count.
public struct NameStatistics: Hashable, Sendable {
  /// The name; nil in the last entry, which is the sum of all names beyond the busiest 1,000.
  public var name: String?
  public var asked: Int
  public var vetoed: Int
  /// The number of verdicts that would have been vetoes without an override.
  public var overridden: Int
  /// The number of queries that ended without a verdict.
  public var cancelled: Int
  public var outcomes: OutcomeCounts
  /// The durations from the question to the verdict, for queries in which the bus asked a delegate.
  public var durations: DurationHistogram
}

/// The outcomes of delegates or awaited observers of one user, unit and label since the bus started.
public struct ParticipantStatistics: Hashable, Sendable {
  public enum Role: String, Hashable, Sendable {
    case delegate
    case observer
  }

  public var role: Role
  /// The delegates' claimed name; empty for observers.
  public var label: String
  /// The unit of the system's service manager, or else of the user's service manager; may be empty.
  public var unit: String
  /// The user; nil in the last entry, which is the sum of all participants beyond the busiest 1,000.
  public var uid: UInt32?
  public var outcomes: OutcomeCounts
  /// The durations from the question, or the notification, to the outcome.
  public var durations: DurationHistogram
}

/// The activity of a user's processes in a unit since the bus started.
public struct UserStatistics: Hashable, Sendable {
  /// The user; nil in the last entry, which is the sum of all entries beyond the busiest 1,000.
  public var uid: UInt32?
  /// The unit of the system's service manager, or else of the user's service manager; may be empty.
  public var unit: String
  public var connections: Int
  public var posted: Int
  /// The size of the posted notifications' frames, in bytes.
  public var postedBytes: Int
  /// The number of notifications that the bus queued for these processes.
  public var delivered: Int
  public var lost: Int
  public var asked: Int
  /// The number of frames that the policy refused.
  public var denied: Int
  /// The number of frames that the bus refused for other reasons.
  public var refused: Int
}

extension OutcomeCounts {
  public init() { self.init(TribuneWire.OutcomeCounts()) }

  init(_ counts: TribuneWire.OutcomeCounts) {
    self.init(
      approved: Int(clamping: counts.approved), vetoed: Int(clamping: counts.vetoed),
      abstained: Int(clamping: counts.abstained), timedOut: Int(clamping: counts.timedOut),
      gone: Int(clamping: counts.gone), failed: Int(clamping: counts.failed),
      held: Int(clamping: counts.held), answered: Int(clamping: counts.answered))
  }
}

extension NameStatistics {
  init(_ entry: NameEntry) {
    self.init(
      name: entry.name.isEmpty ? nil : entry.name, asked: Int(clamping: entry.asked),
      vetoed: Int(clamping: entry.vetoed), overridden: Int(clamping: entry.overridden),
      cancelled: Int(clamping: entry.cancelled), outcomes: OutcomeCounts(entry.outcomes),
      durations: DurationHistogram(entry.durations))
  }
}

extension ParticipantStatistics {
  init(_ entry: ParticipantEntry) {
    let role: Role =
      switch entry.role {
      case .delegate: .delegate
      case .observer: .observer
      }
    self.init(
      role: role, label: entry.label, unit: entry.unit, uid: entry.uid == .max ? nil : entry.uid,
      outcomes: OutcomeCounts(entry.outcomes), durations: DurationHistogram(entry.durations))
  }
}

extension UserStatistics {
  init(_ entry: UserEntry) {
    self.init(
      uid: entry.uid == .max ? nil : entry.uid, unit: entry.unit, connections: Int(entry.connections),
      posted: Int(clamping: entry.posted), postedBytes: Int(clamping: entry.postedBytes),
      delivered: Int(clamping: entry.delivered), lost: Int(clamping: entry.lost),
      asked: Int(clamping: entry.asked), denied: Int(clamping: entry.denied),
      refused: Int(clamping: entry.refused))
  }
}
