// SPDX-License-Identifier: Apache-2.0

package import TribuneService

/// Reads the settings of whom a program serves, which are the same in the files of each.
nonisolated package struct HTTPAccessReader: Sendable {
  private var access = HTTPAccess()
  private var token: (path: String, place: SettingPlace)?
  /// The line that allows sockets that other hosts reach.
  private var network: SettingPlace?

  package init() {}

  /// The keys in the table of a program that has this reader at a path of what it reads. A value that cannot be read lets
  /// nobody in.
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

  /// Lets nobody in: what cannot be read may be about the token.
  package mutating func doubt(_ place: SettingPlace) { access.lack = "\(place) cannot be read" }

  /// - Returns: the settings without what is wrong, and what is only seen when all lines were read.
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
        throw SettingError(word, "is not the name or the address of a host")
      }
      hosts.insert(host)
    }
    return hosts
  }

  private static func path(_ text: String) throws(SettingError) -> String? {
    if text.isEmpty { return nil }
    guard text.hasPrefix("/") else { throw SettingError(text, "is not the path of a file, from / on") }
    return text
  }
}

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
