// SPDX-License-Identifier: Apache-2.0

extension FrameKind {
  /// The effect of a frame of this kind. It determines what the bus logs for a restart.
  package enum Effect: Sendable {
    /// The bus logs only consequences of such a frame: retained and awaited posts.
    case passes
    /// A registration that only receives. If the log is full, the bus accepts the frame without logging it.
    case observes
    /// A registration that takes part in decisions. If the log is full, the bus refuses the frame.
    case decides
    case suspends
    case cancels
    /// If the log is full, the bus refuses the frame.
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

  /// Which frames of a kind can occupy the bus for long.
  package enum Workload: Sendable {
    case long
    /// Frames with fields, and frames with a long payload.
    case longFields
    case longPayload
  }

  package enum ShownName: Sendable {
    case named
    /// The fields begin with the id of a query. Monitors see the frame under the query's name.
    case namedByQuery
    case namedByPost
    case unnamed
  }
}
