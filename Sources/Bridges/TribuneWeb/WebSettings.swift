// SPDX-License-Identifier: Apache-2.0

package import TribuneHTTP
import TribuneSystem

nonisolated package struct WebSettings: Equatable, Sendable {
  package var access = HTTPAccess()
  /// `Monitor=`: patterns of names. The page shows the verdicts on these names.
  package var patterns = ["**"]
  package var showsUserInfo = false
  /// `ConnectionsMax=`, for each socket.
  package var connectionsMax = 256
  /// `PagesMax=`, for each socket.
  package var pagesMax = 32
  /// `MetricNamesMax=`: the limit of time series for names. It also applies to participants, and to users by unit.
  package var metricNamesMax = 100

  package init() {}
}
