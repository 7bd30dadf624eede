// SPDX-License-Identifier: Apache-2.0

package import TribuneHTTP
import TribuneSystem

nonisolated package struct WebSettings: Equatable, Sendable {
  package var access = HTTPAccess()
  /// `Monitor=`: verdicts to show.
  package var patterns = ["**"]
  package var showsUserInfo = false
  /// `ConnectionsMax=`, per socket.
  package var connectionsMax = 256
  /// `PagesMax=`, per socket.
  package var pagesMax = 32
  /// `MetricNamesMax=`: time series for names; also for participants, and for users by unit.
  package var metricNamesMax = 100

  package init() {}
}
