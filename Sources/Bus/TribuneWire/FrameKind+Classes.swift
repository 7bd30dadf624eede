// SPDX-License-Identifier: Apache-2.0

extension FrameKind {
  /// The effect of frames of this kind. The effect decides which frames the bus logs for a restart.
  package enum Effect: Sendable {
    /// The bus does not log the frame itself, only some consequences, such as a retained notification.
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

    /// True if the client relies on the frame's effect, or waits for a result.
    package var isRequest: Bool {
      switch self {
      case .observes, .decides, .suspends, .asks: true
      case .passes, .cancels, .answers: false
      }
    }
  }

  /// Which frames of a kind can take the bus long to handle.
  package enum Workload: Sendable {
    /// All frames.
    case long
    /// Frames with fields, and frames with a long payload.
    case longFields
    case longPayload
  }

  /// The name under which monitors see a frame of this kind.
  package enum ShownName: Sendable {
    case named
    /// The name of a query. The fields begin with the query's id.
    case namedByQuery
    case namedByPost
    case unnamed
  }
}
