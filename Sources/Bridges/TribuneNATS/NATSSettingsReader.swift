// SPDX-License-Identifier: Apache-2.0

package import TribuneService
import TribuneWire

/// Reads files of settings one after the other.
nonisolated package struct NATSSettingsReader {
  private enum Section {
    case none, ignored, cluster, retain, fleetLock
    case query(Int)
    case export(Int)
    case `import`(Int)
  }

  /// The most patterns that one connection can attach a delegate with, or observe with at once.
  private static let patternsMax = WireLimits.patternsPerDelegate
  private static let hostsMax = 64
  private static let names = ["Cluster", "Export", "Import", "Retain", "Query", "FleetLock"]

  private let defaults: NATSSettings
  private var settings: NATSSettings
  private var fleetLock = FleetLockSettingsReader()
  private var diagnostics: [Diagnostic] = []

  package init(hostName: String) {
    defaults = NATSSettings(hostName: hostName)
    settings = defaults
  }

  /// Reads a file's contents.
  package mutating func read(_ contents: [UInt8], file: String) {
    var section = Section.none
    for (number, line) in IniLine.all(in: contents) {
      switch line {
      case .nothing: continue
      case .section(let name, let subject): section = self.section(name, subject, file, number)
      case .pair(let key, let value): take(key, value, in: section, file, number)
      case .unreadable(let reason):
        // It may be Scope=.
        if case .query(let index) = section { settings.questions[index].isClusterWide = true }
        report(.error, file, number, "the line \(reason)")
      }
    }
  }

  package consuming func finish() -> (NATSSettings, [Diagnostic]) {
    let (fleetLock, found) = fleetLock.finish()
    settings.fleetLock = fleetLock
    return (settings, diagnostics + found)
  }

  private mutating func section(_ name: String, _ subject: String?, _ file: String, _ line: Int) -> Section {
    let (name, subject) = understood(name, subject, file, line)
    do throws(SettingError) {
      switch (name, subject) {
      case ("Cluster", nil): return .cluster
      case ("FleetLock", _):
        try fleetLock.begin(subject)
        return .fleetLock
      case ("Export", _):
        return .export(try Self.index(of: subject, in: &settings.exports, \.pattern) { .init(pattern: $0) })
      case ("Import", _):
        return .import(try Self.index(of: subject, in: &settings.imports, \.pattern) { .init(pattern: $0) })
      case ("Query", _):
        return .query(try Self.index(of: subject, in: &settings.questions, \.pattern) { .init(pattern: $0) })
      case ("Retain", _):
        _ = try Self.index(of: subject, in: &settings.retained, \.self) { $0 }
        return .retain
      default:
        let subject = subject.map { " \"\($0.escaped)\"" } ?? ""
        report(.mistake, file, line, "there is no section [\(name.escaped)\(subject)]; it is ignored")
        return .ignored
      }
    } catch {
      report(.error, file, line, "[\(name)]: \(error.message)")
      return .ignored
    }
  }

  /// A section as it is meant. With one left out, a question to the cluster would be one to this host.
  private mutating func understood(
    _ name: String, _ subject: String?, _ file: String, _ line: Int
  ) -> (name: String, subject: String?) {
    let words = name.split(separator: " ", maxSplits: 1).map(String.init)
    guard let word = words.first,
      let meant = Self.names.first(where: { $0.lowercased() == word.lowercased() }),
      name != meant, subject == nil || words.count == 1
    else { return (name, subject) }
    let subject = subject ?? (words.count > 1 ? words[1] : nil)
    let text = meant + (subject.map { " \"\($0.escaped)\"" } ?? "")
    report(.mistake, file, line, "[\(name.escaped)] counts as [\(text)], which is how to write it")
    return (meant, subject)
  }

  /// The place of the section of a pattern, which is made if it is new.
  private static func index<One>(
    of text: String?, in all: inout [One], _ path: KeyPath<One, Pattern>, _ make: (Pattern) -> One
  ) throws(SettingError) -> Int {
    let pattern = try pattern(text)
    if let known = all.firstIndex(where: { $0[keyPath: path] == pattern }) { return known }
    guard all.count < patternsMax else {
      throw SettingError(message: "there are more than \(patternsMax) of these sections")
    }
    all.append(make(pattern))
    return all.count - 1
  }

  private mutating func take(
    _ key: String, _ value: String, in section: Section, _ file: String, _ line: Int
  ) {
    do throws(SettingError) {
      switch (section, key) {
      case (.ignored, _): return
      case (.none, _):
        report(.mistake, file, line, "\(key.escaped)= stands before any section; it is ignored")
      case (.cluster, _):
        if try !takeCluster(key, value) {
          report(.mistake, file, line, "there is no \(key.escaped)= in [Cluster]; it is ignored")
        }
      case (.export(let index), "Durable"):
        // What cannot be read counts as the stricter word.
        settings.exports[index].isDurable = true
        settings.exports[index].isDurable = try Self.isYes(value)
      case (.import(let index), "Durable"):
        settings.imports[index].isDurable = true
        settings.imports[index].isDurable = try Self.isYes(value)
      case (.import(let index), "From"):
        // What cannot be read must not let everybody in.
        settings.imports[index].hosts = [""]
        settings.imports[index].hosts = try Self.hosts(value)
      case (.query(let index), "Scope"):
        // What cannot be read counts as the stricter word.
        settings.questions[index].isClusterWide = true
        settings.questions[index].isClusterWide = try Self.isCluster(value)
      case (.query(let index), _):
        // The word that cannot be read may be Scope=.
        settings.questions[index].isClusterWide = true
        report(
          .mistake, file, line,
          "there is no \(key.escaped)= in this section; its names count as names of the cluster")
      case (.fleetLock, _):
        if try !fleetLock.take(key, value, file, line) {
          report(.mistake, file, line, "there is no \(key.escaped)= in this section; it is ignored")
        }
      case (.export, _), (.import, _), (.retain, _):
        report(.mistake, file, line, "there is no \(key.escaped)= in this section; it is ignored")
      }
    } catch {
      report(.error, file, line, "\(key)=: \(error.message)")
    }
  }

  /// - Returns: false if there is no such key.
  private mutating func takeCluster(_ key: String, _ value: String) throws(SettingError) -> Bool {
    switch key {
    case "Name": settings.cluster = value.isEmpty ? "" : try Self.token(value)
    case "Host": settings.host = value.isEmpty ? defaults.host : try Self.token(value)
    case "Servers": settings.servers = try Self.servers(value)
    case "Roster":
      // With a host left out, a question could pass that it would veto.
      settings.roster = []
      settings.roster = try Self.hosts(value)
    case "OnMissingHost":
      // A word that cannot be read must not be what lets a question pass.
      settings.missing = .veto
      settings.missing = try Self.missing(value)
    case "HostTimeoutSec":
      settings.hostTimeout = value.isEmpty ? defaults.hostTimeout : try Self.hostTimeout(value)
    case "Replicas": settings.replicas = value.isEmpty ? defaults.replicas : try Self.replicas(value)
    case "DurableMaxBytes":
      settings.durableBytesMax = value.isEmpty ? defaults.durableBytesMax : try Self.durableBytesMax(value)
    case "DurableMaxAgeSec":
      settings.durableAgeMax = value.isEmpty ? defaults.durableAgeMax : try Self.durableAgeMax(value)
    case "User": settings.login.user = value
    case "PasswordFile": settings.login.passwordFile = try Self.path(value)
    case "CredentialsFile": settings.login.credentialsFile = try Self.path(value)
    case "PublicKey": settings.login.publicKey = value
    case "SeedFile": settings.login.seedFile = try Self.path(value)
    case "AuthorityFile": settings.login.authorityFile = try Self.path(value)
    case "CertificateFile": settings.login.certificateFile = try Self.path(value)
    case "KeyFile": settings.login.keyFile = try Self.path(value)
    default: return false
    }
    return true
  }

  // MARK: Values

  private static func pattern(_ text: String?) throws(SettingError) -> Pattern {
    guard let text else { throw SettingError(message: "the section needs a pattern, as in \"backup.**\"") }
    do throws(WireError) {
      let pattern = try Pattern(text)
      guard !pattern.isReserved else { throw WireError(.invalidPattern, "") }
      return pattern
    } catch {
      throw SettingError(text, "is not a pattern of names that programs may use")
    }
  }

  private static func token(_ text: String) throws(SettingError) -> String {
    guard Subjects.isToken(text) else {
      throw SettingError(text, "is not 1 to 63 of the letters A-Z, a-z, digits, _ and -")
    }
    return text
  }

  private static func hosts(_ text: String) throws(SettingError) -> [String] {
    var hosts: [String] = []
    for word in SettingSyntax.words(of: text) {
      let host = try token(word)
      if !hosts.contains(host) { hosts.append(host) }
    }
    guard hosts.count <= hostsMax else {
      throw SettingError(message: "there are more than \(hostsMax) hosts")
    }
    return hosts
  }

  private static func servers(_ text: String) throws(SettingError) -> [String] {
    let servers = SettingSyntax.words(of: text)
    // None of these is named, since a password may stand in it.
    guard !servers.contains(where: { $0.contains("@") }) else {
      throw SettingError(
        message: "a user or password stands in User= and PasswordFile=, and not in an address")
    }
    for server in servers where !["nats://", "tls://"].contains(where: { server.hasPrefix($0) }) {
      throw SettingError(server, "does not begin with nats:// or tls://")
    }
    guard servers.allSatisfy({ $0.drop { $0 != "/" }.dropFirst(2).utf8.allSatisfy(isPartOfAddress) }) else {
      throw SettingError(message: "an address is a host and perhaps a port, as in nats://10.0.0.1:4222")
    }
    return servers
  }

  private static func isPartOfAddress(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: ".-_:[]".utf8.contains(byte)
    }
  }

  private static func path(_ text: String) throws(SettingError) -> String {
    guard text.isEmpty || text.hasPrefix("/") else { throw SettingError(text, "is not an absolute path") }
    return text
  }

  private static func missing(_ text: String) throws(SettingError) -> MissingHost {
    switch text {
    case "veto", "": .veto
    case "abstain": .abstain
    default: throw SettingError(text, "is neither veto nor abstain")
    }
  }

  private static func hostTimeout(_ text: String) throws(SettingError) -> Duration {
    let nanoseconds = try SettingSyntax.span(text)
    guard (1_000_000_000...3_600_000_000_000).contains(nanoseconds) else {
      throw SettingError(text, "is not between 1s and 1h")
    }
    return .nanoseconds(Int64(nanoseconds))
  }

  private static func replicas(_ text: String) throws(SettingError) -> Int {
    let count = try SettingSyntax.count(text)
    guard (1...5).contains(count) else { throw SettingError(text, "is not between 1 and 5") }
    return count
  }

  private static func durableBytesMax(_ text: String) throws(SettingError) -> Int {
    let size = try SettingSyntax.size(text)
    guard (64 << 10...1 << 40).contains(size) else { throw SettingError(text, "is not between 64K and 1T") }
    return size
  }

  private static func durableAgeMax(_ text: String) throws(SettingError) -> Duration {
    let nanoseconds = try SettingSyntax.span(text)
    guard (3_600_000_000_000...31_536_000_000_000_000).contains(nanoseconds) else {
      throw SettingError(text, "is not between 1h and 365d")
    }
    return .nanoseconds(Int64(nanoseconds))
  }

  private static func isYes(_ text: String) throws(SettingError) -> Bool {
    switch text {
    case "yes": true
    case "no", "": false
    default: throw SettingError(text, "is neither yes nor no")
    }
  }

  private static func isCluster(_ text: String) throws(SettingError) -> Bool {
    switch text {
    case "cluster": true
    case "host", "": false
    default: throw SettingError(text, "is neither host nor cluster")
    }
  }

  private mutating func report(
    _ severity: Diagnostic.Severity, _ file: String, _ line: Int?, _ message: String
  ) {
    diagnostics.append(Diagnostic(severity, file, line, message))
  }
}
