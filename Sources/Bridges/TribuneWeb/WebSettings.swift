// SPDX-License-Identifier: Apache-2.0

package import TribuneHTTP
import TribuneSystem

nonisolated package struct WebSettings: Equatable, Sendable {
  package var access = HTTPAccess()
  /// `Monitor=`: the patterns of the verdicts to show.
  package var patterns = ["**"]
  package var showsUserInfo = false
  /// `ConnectionsMax=`, for each socket.
  package var connectionsMax = 256
  /// `PagesMax=`, for each socket.
  package var pagesMax = 32
  /// `MetricNamesMax=`: how many time series names get; also how many participants get, and users by unit.
  package var metricNamesMax = 100

  package init() {}
}
