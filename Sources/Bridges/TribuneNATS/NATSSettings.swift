// SPDX-License-Identifier: Apache-2.0

package import TribuneService
import TribuneSystem
package import TribuneWire

nonisolated package struct NATSSettings: Equatable, Sendable {
  package struct Export: Equatable, Sendable {
    package var pattern: Pattern
    package var isDurable = false
  }

  package struct Import: Equatable, Sendable {
    package var pattern: Pattern
    package var isDurable = false
    /// The hosts from which to import; empty for all.
    package var hosts: [String] = []

    package func takes(from host: String) -> Bool { hosts.isEmpty || hosts.contains(host) }
  }

  /// `[Query "PATTERN"]`: questions that other hosts may ask this host.
  package struct Question: Equatable, Sendable {
    package var pattern: Pattern
    /// `Scope=cluster`: the question goes to the whole cluster, even if the asker does not request it.
    package var isClusterWide = false
  }

  /// The login at NATS. Each field is a text or a path; empty if unset.
  package struct Login: Equatable, Sendable {
    package var user = ""
    package var passwordFile = ""
    /// The file of a JWT and its seed.
    package var credentialsFile = ""
    package var publicKey = ""
    package var seedFile = ""
    package var authorityFile = ""
    package var certificateFile = ""
    package var keyFile = ""

    /// True without a login. NATS then cannot stop this host from publishing in another host's name.
    package var isNameless: Bool {
      [user, credentialsFile, publicKey, certificateFile].allSatisfy(\.isEmpty)
    }

    package var hasCertificates: Bool { !authorityFile.isEmpty || !certificateFile.isEmpty }

    package var problems: [String] {
      let files = [
        ("PasswordFile", passwordFile), ("CredentialsFile", credentialsFile), ("SeedFile", seedFile),
        ("AuthorityFile", authorityFile), ("CertificateFile", certificateFile), ("KeyFile", keyFile),
      ]
      let pairs = [
        ("User", user, "PasswordFile", passwordFile), ("PublicKey", publicKey, "SeedFile", seedFile),
        ("CertificateFile", certificateFile, "KeyFile", keyFile),
      ]
      return files.filter { !$0.1.isEmpty && Folder.kind(of: Array($0.1.utf8)) == nil }
        .map { "\($0.0)=: there is no file \($0.1.escaped)" }
        + pairs.filter { $0.1.isEmpty != $0.3.isEmpty }.map { one, value, other, _ in
          value.isEmpty ? "\(other)= needs \(one)=" : "\(one)= needs \(other)="
        }
    }
  }

  /// The line, file or folder of the configuration that cannot be read, and that may concern a veto.
  package var unreadable: String?
  package var cluster = ""
  /// Empty if the host's name is not a valid token.
  package var host: String
  package var servers: [String] = []
  package var login = Login()
  /// `Roster=`: all hosts of the cluster. Every host must have the same roster.
  package var roster: [String] = []
  package var missing = MissingHost.veto
  package var hostTimeout = Duration.seconds(10)
  package var exports: [Export] = []
  package var imports: [Import] = []
  package var retained: [Pattern] = []
  package var replicas = 1
  /// The limits of the durable stream, if this program creates it.
  package var durableBytesMax = 1 << 30
  package var durableAgeMax = Duration.seconds(7 * 86_400)
  package var questions: [Question] = []
  package var fleetLock = FleetLockSettings()

  package init(hostName: String) {
    let short = hostName.split(separator: ".").first.map(String.init) ?? ""
    host = Subjects.isToken(short) ? short : ""
  }

  /// libnats itself does not require TLS for tls:// addresses, so this program tells it to.
  package var requiresTLS: Bool { login.hasCertificates || servers.contains { $0.hasPrefix("tls://") } }

  package var others: [String] { roster.filter { $0 != host } }

  /// A hash of the roster, independent of its order; empty without a roster.
  package var rosterMark: String {
    guard !roster.isEmpty else { return "" }
    let hosts = roster.sorted()
    // FNV-1a.
    let hash = hosts.joined(separator: " ").utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01b3
    }
    return "\(hosts.count)-\(String(hash, radix: 16))"
  }

  package var clusterPatterns: [String] { questions.filter(\.isClusterWide).map(\.pattern.text) }

  package var hasDurableExports: Bool { exports.contains { $0.isDurable } }

  package var storesNotifications: Bool { hasDurableExports || !retained.isEmpty }

  package var hasDurableImports: Bool { imports.contains { $0.isDurable } }

  package func isExportedDurably(_ name: String) -> Bool {
    exports.contains { $0.isDurable && $0.pattern.matches(name.utf8Bytes) }
  }

  package func imports(_ name: String, from host: String, durably: Bool) -> Bool {
    imports.contains {
      $0.isDurable == durably && $0.takes(from: host) && $0.pattern.matches(name.utf8Bytes)
    }
  }

  package func isShared(_ name: String) -> Bool { retained.contains { $0.matches(name.utf8Bytes) } }

  package var isUsed: Bool {
    !exports.isEmpty || !imports.isEmpty || !retained.isEmpty || !questions.isEmpty
      || !fleetLock.groups.isEmpty
  }

  /// A pattern of `[Retain]` and a durable pattern that overlap; nil if there are none.
  package var sharedAndDurable: (shared: String, durable: String)? {
    let durable = exports.filter(\.isDurable).map(\.pattern) + imports.filter(\.isDurable).map(\.pattern)
    for shared in retained {
      if let found = durable.first(where: shared.overlaps) { return (shared.text, found.text) }
    }
    return nil
  }

  package var lack: String? {
    if let unreadable { return "\(unreadable) cannot be read" }
    if cluster.isEmpty { return "Name= is missing in [Cluster]" }
    if host.isEmpty { return "Host= is missing in [Cluster], and the name of this host cannot be used" }
    if servers.isEmpty { return "Servers= is missing in [Cluster]" }
    return clusterPatterns.isEmpty ? nil : rosterLack
  }

  package var scopeLack: String? { lack ?? rosterLack }

  private var rosterLack: String? { others.isEmpty ? "Roster= in [Cluster] has no other host to ask" : nil }

  package var warnings: [String] {
    var found: [String] = []
    if !questions.isEmpty, !roster.isEmpty, !roster.contains(host) {
      found.append(
        "Roster= in [Cluster] does not have this host, \(host): if it is the same on all hosts, none asks this one"
      )
    }
    if !questions.isEmpty, login.isNameless {
      found.append(
        "without a login in [Cluster], any NATS client can approve in the name of a host that vetoes"
      )
    }
    if let (shared, durable) = sharedAndDurable {
      found.append(
        "names under [Retain \"\(shared)\"] are not durable, even under \"\(durable)\" with Durable=yes"
      )
    }
    return found
  }

  /// Reads all files. A missing directory is an error if the caller names it.
  package static func load(from directory: String?, hostName: String) -> (NATSSettings, [Diagnostic]) {
    var reader = NATSSettingsReader(hostName: hostName)
    reader.readAll(in: directory)
    let file = "\(directory ?? ConfigurationFiles.systemDirectory)/nats.conf"
    let (settings, found) = reader.finish()
    var diagnostics = found
    diagnostics += settings.login.problems.map {
      Diagnostic(.error, file, nil, $0)
    }
    if settings.isUsed, let lack = settings.lack {
      diagnostics.append(Diagnostic(.error, file, nil, lack))
    }
    diagnostics += settings.warnings.map { Diagnostic(.warning, file, nil, $0) }
    return (settings, diagnostics)
  }
}
