// SPDX-License-Identifier: Apache-2.0

package import TribuneHTTP
import TribuneSystem

/// The settings in web.conf.
nonisolated package struct WebSettings: Equatable, Sendable {
  /// `Hosts=`, `TokenFile=` and `AllowNetwork=`.
  package var access = HTTPAccess()
  /// `Monitor=`: names whose verdicts are shown.
  package var patterns = ["**"]
  /// `ShowUserInfo=`
  package var showsUserInfo = false
  /// `ConnectionsMax=`, per socket.
  package var connectionsMax = 256
  /// `PagesMax=`, per socket: concurrent event streams.
  package var pagesMax = 32
  /// `MetricNamesMax=`: names with their own time series; also the limit for participants, and for users by
  /// unit.
  package var metricNamesMax = 100

  package init() {}
}
