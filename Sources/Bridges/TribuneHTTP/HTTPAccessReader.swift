// SPDX-License-Identifier: Apache-2.0

package import TribuneService

nonisolated package struct HTTPAccessReader: Sendable {
  private var access = HTTPAccess()
  private var token: (path: String, place: SettingPlace)?
  private var network: SettingPlace?

  package init() {}

  /// An invalid value has the strictest effect. An invalid `Hosts=` also discards the names of an earlier
  /// one, so only this host's own names (`HostRule`) are accepted. An invalid `TokenFile=` lets no client in,
  /// and an invalid `AllowNetwork=` counts as no.
  package static func settings<Settings: Sendable>(
    of path: any WritableKeyPath<Settings, HTTPAccessReader> & Sendable
  ) -> [Setting<Settings>] {
    [
      Setting("Hosts") { settings, value, _ throws(SettingError) in
        settings[keyPath: path].access.hosts = []
        settings[keyPath: path].access.hosts = try hosts(value)
      },
      Setting("TokenFile") { settings, value, place throws(SettingError) in
        settings[keyPath: path].access.lack = "TokenFile= has no token"
        settings[keyPath: path].token = try Self.path(value).map { ($0, place) }
        settings[keyPath: path].access.lack = nil
      },
      Setting("AllowNetwork") { settings, value, place throws(SettingError) in
        settings[keyPath: path].access.allowsNetwork = false
        settings[keyPath: path].access.allowsNetwork = try SettingSyntax.flag(value)
        settings[keyPath: path].network = place
      },
    ]
  }

  /// Refuses all clients, because the line or file at `place` cannot be read, and could contain `TokenFile=`.
  package mutating func doubt(_ place: SettingPlace) { access.lack = "\(place) cannot be read" }

  package consuming func finish() -> (HTTPAccess, [Diagnostic]) {
    var diagnostics: [Diagnostic] = []
    if let token {
      do throws(SettingError) {
        access.token = try AccessToken(file: token.path)
      } catch {
        access.lack = "TokenFile= has no token"
        diagnostics.append(
          Diagnostic(.error, token.place.file, token.place.line, "TokenFile=: \(error.message)"))
      }
    }
    if let network, access.allowsNetwork, token == nil {
      access.allowsNetwork = false
      diagnostics.append(
        Diagnostic(
          .error, network.file, network.line,
          "AllowNetwork= needs TokenFile=: other hosts would need no token"))
    }
    return (access, diagnostics)
  }

  private static func hosts(_ text: String) throws(SettingError) -> Set<String> {
    var hosts: Set<String> = []
    for word in SettingSyntax.words(of: text) {
      let host = word.lowercased()
      guard HostRule.isName(host) else {
        throw SettingError(word, "is not a host name or address")
      }
      hosts.insert(host)
    }
    return hosts
  }

  private static func path(_ text: String) throws(SettingError) -> String? {
    if text.isEmpty { return nil }
    guard text.hasPrefix("/") else { throw SettingError(text, "is not an absolute path") }
    return text
  }
}

/// The rules that decide which clients a program serves.
nonisolated package struct HTTPAccess: Equatable, Sendable {
  /// The names in `Hosts=`, in lower case.
  package var hosts: Set<String> = []
  package var token: AccessToken?
  package var allowsNetwork = false
  /// Why the program serves no client; nil if it may serve clients.
  package var lack: String?

  package init() {}
}
