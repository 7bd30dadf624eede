// SPDX-License-Identifier: Apache-2.0

extension QueryMode {
  package var isForValues: Bool {
    switch self {
    case .first, .collect: true
    case .parallel, .all, .order: false
    }
  }
  /// True if the bus asks one delegate at a time.
  package var isSequential: Bool {
    switch self {
    case .order, .first: true
    case .parallel, .all, .collect: false
    }
  }
}

extension Ask {
  /// True if the query ends only when every delegate has an outcome. If false, the first veto ends a query
  /// for permission, and the first value ends a value query.
  package var waitsForAll: Bool {
    switch mode {
    case .all, .collect: true
    case .parallel, .order, .first: flags.contains(.overrides)
    }
  }
}
