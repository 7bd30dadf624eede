// SPDX-License-Identifier: Apache-2.0

extension FrameKind {
  /// What the bus logs of a frame, for a restart.
  package enum Effect: Sendable {
    /// Nothing. Retained and awaited posts have separate entries.
    case passes
    /// A registration that receives. Accepted unlogged if the log is full.
    case observes
    /// A registration that takes part in decisions. Refused if the log is full.
    case decides
    case suspends
    case cancels
    /// Refused if the log is full.
    case asks
    case answers

    package var isRegistration: Bool {
      switch self {
      case .observes, .decides: true
      case .passes, .suspends, .cancels, .asks, .answers: false
      }
    }

    package var isAboutRegistrations: Bool {
      switch self {
      case .observes, .decides, .suspends, .cancels: true
      case .passes, .asks, .answers: false
      }
    }

    /// The client relies on the frame's effect, or waits for its result.
    package var isRequest: Bool {
      switch self {
      case .observes, .decides, .suspends, .asks: true
      case .passes, .cancels, .answers: false
      }
    }
  }

  /// When a single frame can occupy the bus for long.
  package enum Workload: Sendable {
    case long
    /// With fields, or a long payload.
    case longFields
    case longPayload
  }

  /// The name that monitors see for a frame.
  package enum ShownName: Sendable {
    case named
    /// The name of the query whose id is the first field.
    case namedByQuery
    /// The name of the awaited post in its fields.
    case namedByPost
    case unnamed
  }
}
