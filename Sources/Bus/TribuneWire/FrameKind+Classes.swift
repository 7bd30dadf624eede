// SPDX-License-Identifier: Apache-2.0

extension FrameKind {
  /// What the bus remembers of a frame over a restart.
  package enum Effect: Sendable {
    /// Nothing of the frame itself; what a post leaves, retained or awaited, has entries of its own.
    case passes
    /// A registration that receives something, until it ends. Without space in the log, it is let in unlogged.
    case observes
    /// A registration that takes part in decisions, until it ends. Without space, it is refused.
    case decides
    /// Whether the connection is suspended.
    case suspends
    /// The end of a registration.
    case cancels
    /// A request, until its result. Without space, it is refused.
    case asks
    /// A part of a request.
    case answers

    package var isRegistration: Bool {
      switch self {
      case .observes, .decides: true
      case .passes, .suspends, .cancels, .asks, .answers: false
      }
    }

    /// Whether it can register something, end a registration, or suspend.
    package var isAboutRegistrations: Bool {
      switch self {
      case .observes, .decides, .suspends, .cancels: true
      case .passes, .asks, .answers: false
      }
    }

    /// Whether the client relies on what the frame changes, or waits for its result.
    package var isRequest: Bool {
      switch self {
      case .observes, .decides, .suspends, .asks: true
      case .passes, .cancels, .answers: false
      }
    }
  }

  /// When a frame alone can keep the bus busy for long: walking all that is retained, buffered or registered, asking
  /// many delegates, registering many patterns, checking long userInfo, or reading a file.
  package enum Workload: Sendable {
    /// Always.
    case long
    /// With fields, or a long payload.
    case longFields
    /// With a long payload.
    case longPayload
  }

  /// The name under which monitors see a frame.
  package enum ShownName: Sendable {
    /// Its own.
    case named
    /// That of the query with whose id its fields begin.
    case namedByQuery
    /// That of the awaited post that its fields name.
    case namedByPost
    /// None.
    case unnamed
  }
}
