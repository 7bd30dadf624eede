// SPDX-License-Identifier: Apache-2.0

extension FrameKind {
  /// What the bus logs of a frame, for a restart.
  package enum Effect: Sendable {
    /// The bus logs only consequences of such a frame: retained and awaited posts.
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

    /// True if the client relies on the frame's effect, or waits for its result.
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
    /// A frame with fields, or a long payload.
    case longFields
    case longPayload
  }

  package enum ShownName: Sendable {
    case named
    /// True if the fields begin with the query's id.
    case namedByQuery
    case namedByPost
    case unnamed
  }
}
