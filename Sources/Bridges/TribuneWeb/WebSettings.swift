// SPDX-License-Identifier: Apache-2.0

package import TribuneHTTP
import TribuneSystem

/// What web.conf says.
nonisolated package struct WebSettings: Equatable, Sendable {
  /// `Hosts=`, `TokenFile=` and `AllowNetwork=`.
  package var access = HTTPAccess()
  /// `Monitor=`: the names of which verdicts are shown.
  package var patterns = ["**"]
  /// `ShowUserInfo=`
  package var showsUserInfo = false
  /// `ConnectionsMax=`, for each socket.
  package var connectionsMax = 256
  /// `PagesMax=`, for each socket: event streams at a time.
  package var pagesMax = 32
  /// `MetricNamesMax=`: names with time series of their own; likewise participants, and users in their units.
  package var metricNamesMax = 100

  package init() {}
}
