// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension FrameKind {
  enum Purpose {
    case post
    /// An ask, a list, or a hold's new reason.
    case request
    case registration
    case suspension
    /// A frame that refers to frames of the bus on the same connection. On another connection, it is invalid.
    case answer
    case deferral, cancel, other
  }

  var purpose: Purpose {
    switch self {
    case .post: .post
    case .ask, .list, .amend: .request
    case .observe, .attach, .hold, .declare, .monitor, .begin: .registration
    case .suspend: .suspension
    case .answer, .done, .room: .answer
    case .defer: .deferral
    case .cancel: .cancel
    case .welcome, .error, .ok, .lost, .question, .progress, .verdict, .concluded, .entry, .traffic, .ended,
      .retained, .awaited, .succeed, .poster, .pace, .late:
      .other
    }
  }
}

extension FrameView {
  var purpose: FrameKind.Purpose { header.kind?.purpose ?? .other }
}
