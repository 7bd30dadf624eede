// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON

extension DurationHistogram {
  /// The median, the 99th percentile and the longest duration.
  var spans: [Duration?] { [quantile(0.5), quantile(0.99), quantile(1)] }

  var members: [(name: String, value: JSONValue)] {
    zip(["median", "p99", "longest"], spans).map { name, span in (name, .seconds(ifKnown: span)) }
  }
}

extension JSONValue {
  static func seconds(ifKnown span: Duration?) -> JSONValue { span.map { .seconds($0) } ?? .null }
}
