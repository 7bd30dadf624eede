// SPDX-License-Identifier: Apache-2.0

/// Whom a program serves: what its configuration says of that.
nonisolated package struct HTTPAccess: Equatable, Sendable {
  /// `Hosts=`: names, in lower case, under which it serves beside those of this host.
  package var hosts: Set<String> = []
  /// `TokenFile=`: what those who ask must present; nil for nothing.
  package var token: AccessToken?
  /// `AllowNetwork=`: serve sockets that other hosts reach.
  package var allowsNetwork = false
  /// Why nothing may be served; nil if it may.
  package var lack: String?

  package init() {}
}
