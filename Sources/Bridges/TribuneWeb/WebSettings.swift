// SPDX-License-Identifier: Apache-2.0

package import TribuneHTTP
import TribuneSystem

nonisolated package struct WebSettings: Equatable, Sendable {
  package var access = HTTPAccess()
  /// `Monitor=`: patterns of names. The page shows the verdicts on matching names.
  package var patterns = ["**"]
  package var showsUserInfo = false
  /// `ConnectionsMax=`: the limit for each listening socket.
  package var connectionsMax = 256
  /// `PagesMax=`: the limit for each listening socket.
  package var pagesMax = 32
  /// `MetricNamesMax=`: how many names can have their own time series. The same limit applies to
  /// participants, and to pairs of user and unit.
  package var metricNamesMax = 100

  package init() {}
}
