// SPDX-License-Identifier: Apache-2.0

extension QueryMode {
  /// Whether the query is for values, not for permission.
  package var isForValues: Bool {
    switch self {
    case .first, .collect: true
    case .parallel, .all, .order: false
    }
  }
  /// Whether one delegate is asked at a time.
  package var isSequential: Bool {
    switch self {
    case .order, .first: true
    case .parallel, .all, .collect: false
    }
  }
}

extension Ask {
  /// Whether all answers are awaited. Otherwise a veto, or a value in a mode for values, ends the query.
  package var waitsForAll: Bool {
    switch mode {
    case .all, .collect: true
    case .parallel, .order, .first: flags.contains(.overrides)
    }
  }
}
