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
  /// If false, the first veto ends the query. In a value query, the first value ends it.
  package var waitsForAll: Bool {
    switch mode {
    case .all, .collect: true
    case .parallel, .order, .first: flags.contains(.overrides)
    }
  }
}
