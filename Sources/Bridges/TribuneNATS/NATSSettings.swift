// SPDX-License-Identifier: Apache-2.0

package import TribuneService
import TribuneSystem
package import TribuneWire

/// What nats.conf says.
nonisolated package struct NATSSettings: Equatable, Sendable {
  /// A section `[Export "PATTERN"]`.
  package struct Export: Equatable, Sendable {
    package var pattern: Pattern
    /// Whether it goes through JetStream, and no other way.
    package var isDurable = false
  }

  /// A section `[Import "PATTERN"]`.
  package struct Import: Equatable, Sendable {
    package var pattern: Pattern
    /// Whether it comes through JetStream.
    package var isDurable = false
    /// The hosts whose notifications come in; empty for all.
    package var hosts: [String] = []

    package func takes(from host: String) -> Bool { hosts.isEmpty || hosts.contains(host) }
  }

  /// A section `[Query "PATTERN"]`: other hosts may ask this one these names.
  package struct Question: Equatable, Sendable {
    package var pattern: Pattern
    /// Whether they are asked of the whole cluster, also if the asker does not say so.
    package var isClusterWide = false
  }

  /// How this host logs in to NATS. Each is a path or a word; empty for none.
  package struct Login: Equatable, Sendable {
    package var user = ""
    package var passwordFile = ""
    /// A file of a JWT and its seed.
    package var credentialsFile = ""
    package var publicKey = ""
    package var seedFile = ""
    package var authorityFile = ""
    package var certificateFile = ""
    package var keyFile = ""

    /// Whether NATS cannot tell who this host is, and so cannot keep it from speaking for others.
    package var isNameless: Bool {
      [user, credentialsFile, publicKey, certificateFile].allSatisfy(\.isEmpty)
    }

    package var hasCertificates: Bool { !authorityFile.isEmpty || !certificateFile.isEmpty }

    /// What keeps this host from logging in.
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

  /// A line or file that cannot be read, which may be about a veto; nil if all can.
  package var unreadable: String?
  package var cluster = ""
  /// This host; empty if its name is none that NATS could use.
  package var host: String
  package var servers: [String] = []
  package var login = Login()
  /// All hosts of the cluster, the same on each of them.
  package var roster: [String] = []
  package var missing = MissingHost.veto
  package var hostTimeout = Duration.seconds(10)
  package var exports: [Export] = []
  package var imports: [Import] = []
  /// The names whose retained notifications all hosts share.
  package var retained: [Pattern] = []
  /// How many servers have what this program makes in JetStream.
  package var replicas = 1
  /// What the stream of durable notifications keeps, if this program makes it.
  package var durableBytesMax = 1 << 30
  package var durableAgeMax = Duration.seconds(7 * 86_400)
  package var questions: [Question] = []
  package var fleetLock = FleetLockSettings()

  /// - Parameter hostName: of this host. What is behind its first dot does not count.
  package init(hostName: String) {
    let short = hostName.split(separator: ".").first.map(String.init) ?? ""
    host = Subjects.isToken(short) ? short : ""
  }

  /// Whether a connection without TLS is refused. libnats itself takes tls:// for a wish.
  package var requiresTLS: Bool { login.hasCertificates || servers.contains { $0.hasPrefix("tls://") } }

  /// The hosts that are asked, besides this one.
  package var others: [String] { roster.filter { $0 != host } }

  /// Tells this roster from those of other hosts, in whichever order it is written. Empty if there is none.
  package var rosterMark: String {
    guard !roster.isEmpty else { return "" }
    let hosts = roster.sorted()
    // FNV-1a.
    let hash = hosts.joined(separator: " ").utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01b3
    }
    return "\(hosts.count)-\(String(hash, radix: 16))"
  }

  /// The names that are asked of the whole cluster.
  package var clusterPatterns: [String] { questions.filter(\.isClusterWide).map(\.pattern.text) }

  package var hasDurableExports: Bool { exports.contains { $0.isDurable } }

  /// Whether this host has JetStream store what is posted here.
  package var storesNotifications: Bool { hasDurableExports || !retained.isEmpty }

  package var hasDurableImports: Bool { imports.contains { $0.isDurable } }

  /// Whether what is posted on this host under a name goes through JetStream.
  package func isExportedDurably(_ name: String) -> Bool {
    exports.contains { $0.isDurable && $0.pattern.matches(name.utf8Bytes) }
  }

  /// Whether what a host posts under a name comes in, through JetStream or without it.
  package func imports(_ name: String, from host: String, durably: Bool) -> Bool {
    imports.contains {
      $0.isDurable == durably && $0.takes(from: host) && $0.pattern.matches(name.utf8Bytes)
    }
  }

  /// Whether a name's notifications go through the bucket of those that are retained.
  package func isShared(_ name: String) -> Bool { retained.contains { $0.matches(name.utf8Bytes) } }

  package var isUsed: Bool {
    !exports.isEmpty || !imports.isEmpty || !retained.isEmpty || !questions.isEmpty
      || !fleetLock.groups.isEmpty
  }

  /// The first section of what is shared, and of what is durable, which have names in common; nil if there are none.
  package var sharedAndDurable: (shared: String, durable: String)? {
    let durable = exports.filter(\.isDurable).map(\.pattern) + imports.filter(\.isDurable).map(\.pattern)
    for shared in retained {
      if let found = durable.first(where: shared.overlaps) { return (shared.text, found.text) }
    }
    return nil
  }

  /// Why no cluster can be reached with these settings; nil if it can.
  package var lack: String? {
    if let unreadable { return "\(unreadable) cannot be read" }
    if cluster.isEmpty { return "Name= is missing in [Cluster]" }
    if host.isEmpty { return "Host= is missing in [Cluster], and the name of this host cannot be used" }
    if servers.isEmpty { return "Servers= is missing in [Cluster]" }
    return clusterPatterns.isEmpty ? nil : rosterLack
  }

  /// Why no question can be asked of the cluster; nil if one can.
  package var scopeLack: String? { lack ?? rosterLack }

  private var rosterLack: String? { others.isEmpty ? "Roster= in [Cluster] has no other host to ask" : nil }

  /// What is not wrong, and hardly meant.
  package var warnings: [String] {
    var found: [String] = []
    if !questions.isEmpty, !roster.isEmpty, !roster.contains(host) {
      found.append(
        "Roster= in [Cluster] does not have this host, \(host): if it is the same on all hosts, none asks this one"
      )
    }
    if !questions.isEmpty, login.isNameless {
      found.append(
        "without a login in [Cluster], NATS cannot keep anybody from approving in the name of a host that vetoes"
      )
    }
    if let (shared, durable) = sharedAndDurable {
      found.append(
        "what is under [Retain \"\(shared)\"] is not durable, also if it is under \"\(durable)\" with Durable=yes"
      )
    }
    return found
  }

  /// Reads nats.conf and nats.conf.d/*.conf in a directory. Later lines win. A missing directory is an error, unless it
  /// is the default one.
  ///
  /// - Returns: the settings without what is wrong, and all that is.
  package static func load(from directory: String, hostName: String) -> (NATSSettings, [Diagnostic]) {
    var reader = NATSSettingsReader(hostName: hostName)
    reader.readAll(in: directory)
    let (settings, found) = reader.finish()
    var diagnostics = found
    diagnostics += settings.login.problems.map {
      Diagnostic(.error, "\(directory)/nats.conf", nil, $0)
    }
    if settings.isUsed, let lack = settings.lack {
      diagnostics.append(Diagnostic(.error, "\(directory)/nats.conf", nil, lack))
    }
    diagnostics += settings.warnings.map { Diagnostic(.warning, "\(directory)/nats.conf", nil, $0) }
    return (settings, diagnostics)
  }
}
