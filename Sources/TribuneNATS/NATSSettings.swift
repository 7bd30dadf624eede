// SPDX-License-Identifier: Apache-2.0

package import TribuneService
import TribuneSystem
package import TribuneWire

/// What nats.conf says.
nonisolated package struct NATSSettings: Equatable, Sendable {
  /// A section `[Import "PATTERN"]`.
  package struct Import: Equatable, Sendable {
    package var pattern: Pattern
    /// The hosts whose notifications come in; empty for all.
    package var hosts: [String] = []
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

    package var usesTLS: Bool { !authorityFile.isEmpty || !certificateFile.isEmpty }
  }

  package var cluster = ""
  /// This host; empty if its name is none that NATS could use.
  package var host: String
  package var servers: [String] = []
  package var login = Login()
  /// All hosts of the cluster, with or without this one.
  package var roster: [String] = []
  package var missing = MissingHost.veto
  package var hostTimeout = Duration.seconds(10)
  package var exports: [Pattern] = []
  package var imports: [Import] = []
  /// The names whose retained notifications all hosts share.
  package var retained: [Pattern] = []
  /// How many servers have the bucket of them, if this program makes it.
  package var replicas = 1
  package var questions: [Question] = []
  package var fleetLock = FleetLockSettings()

  package static let systemDirectory = "/etc/tribune"

  /// - Parameter hostName: of this host. What is behind its first dot does not count.
  package init(hostName: String) {
    let short = hostName.split(separator: ".").first.map(String.init) ?? ""
    host = Subjects.isToken(short) ? short : ""
  }

  /// The hosts that are asked, besides this one.
  package var others: [String] { roster.filter { $0 != host } }

  /// The names that are asked of the whole cluster.
  package var clusterPatterns: [String] { questions.filter(\.isClusterWide).map(\.pattern.text) }

  package var isUsed: Bool {
    !exports.isEmpty || !imports.isEmpty || !retained.isEmpty || !questions.isEmpty
      || !fleetLock.groups.isEmpty
  }

  /// Why no cluster can be reached with these settings; nil if it can.
  package var lack: String? {
    if cluster.isEmpty { return "Name= is missing in [Cluster]" }
    if host.isEmpty { return "Host= is missing in [Cluster], and the name of this host cannot be used" }
    if servers.isEmpty { return "Servers= is missing in [Cluster]" }
    return clusterPatterns.isEmpty ? nil : rosterLack
  }

  /// Why no question can be asked of the cluster; nil if one can.
  package var scopeLack: String? { lack ?? rosterLack }

  private var rosterLack: String? { others.isEmpty ? "Roster= in [Cluster] has no other host to ask" : nil }

  /// Reads nats.conf and nats.conf.d/*.conf in a directory. Later lines win. A missing directory is a warning, unless it
  /// is the default one.
  ///
  /// - Returns: the settings without what is wrong, and all that is.
  package static func load(from directory: String, hostName: String) -> (NATSSettings, [Diagnostic]) {
    var reader = NATSSettingsReader(hostName: hostName)
    var diagnostics: [Diagnostic] = []
    if directory != systemDirectory, Folder.kind(of: Array(directory.utf8)) == nil {
      diagnostics.append(Diagnostic(.warning, directory, nil, "does not exist; the defaults apply"))
    }
    diagnostics += ConfigurationFiles.readAll("nats.conf", in: directory) { reader.read($0, file: $1) }
    let (settings, found) = reader.finish()
    diagnostics += found
    if settings.isUsed, let lack = settings.lack {
      diagnostics.append(Diagnostic(.error, "\(directory)/nats.conf", nil, lack))
    }
    if !settings.questions.isEmpty, !settings.roster.isEmpty, !settings.roster.contains(settings.host) {
      diagnostics.append(
        Diagnostic(
          .warning, "\(directory)/nats.conf", nil,
          "Roster= in [Cluster] does not have this host, \(settings.host): if it is the same on all hosts, none asks this one"
        ))
    }
    return (settings, diagnostics)
  }
}
