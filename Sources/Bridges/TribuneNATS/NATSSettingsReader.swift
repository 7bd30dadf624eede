// SPDX-License-Identifier: Apache-2.0

import TribuneHTTP
package import TribuneService
import TribuneWire

nonisolated package struct NATSSettingsReader {
  private static let patternsMax = WireLimits.patternsPerDelegate
  private static let hostsMax = 64

  private struct Draft: Sendable {
    var settings: NATSSettings
    var access = HTTPAccessReader()
  }

  private typealias Section = SettingsSection<Draft>
  private typealias Path<Value> = any WritableKeyPath<NATSSettings, Value> & Sendable

  private static let ownSections: [Section] =
    [
      Section("Cluster", cluster, doubt: doubt, consequence: consequence),
      Section(
        "Export", hasSubject: true,
        [strictly("Durable", \.exports, \.pattern, \.isDurable, true, SettingSyntax.flag)],
        begin: adding(\.exports, \.pattern) { .init(pattern: $0) }),
      Section(
        "Import", hasSubject: true,
        [
          strictly("Durable", \.imports, \.pattern, \.isDurable, true, SettingSyntax.flag),
          // An invalid `From=` matches no host, because an empty list would match all hosts.
          strictly("From", \.imports, \.pattern, \.hosts, [""], hosts),
        ], begin: adding(\.imports, \.pattern) { .init(pattern: $0) }, doubt: doubt, consequence: consequence),
      Section("Retain", hasSubject: true, [], begin: adding(\.retained, \.self) { $0 }),
      Section(
        "Query", hasSubject: true,
        [
          strictly("Scope", \.questions, \.pattern, \.isClusterWide, true) { value throws(SettingError) in
            try SettingSyntax.word(value, ["cluster": true, "host": false])
          }
        ],
        begin: { draft, place throws(SettingError) in
          try SettingSyntax.requireQuestion(place.subject, orValue: true)
          try adding(\.questions, \.pattern) { .init(pattern: $0) }(&draft, place)
        }, doubt: doubt,
        consequence: consequence),
    ]

  private static let consequence = "the cluster counts as unreachable"

  private static let doubt: Section.Doubt = { draft, place in
    draft.settings.unreadable = "\(place)"
    // An unreadable line may have been Scope=, so the strict value applies.
    for index in draft.settings.questions.indices
    where draft.settings.questions[index].pattern.text == place.subject {
      draft.settings.questions[index].isClusterWide = true
    }
  }

  private static let sections =
    ownSections + FleetLockSettings.sections(of: \.settings.fleetLock, access: \.access)

  private static let hour: UInt64 = 3_600_000_000_000

  private static let cluster: [Setting<Draft>] = [
    Setting("Name", \.settings.cluster, strictly: "", token), Setting("Host", \.settings.host, token),
    Setting("Servers", \.settings.servers, strictly: [], servers),
    // Each line adds hosts. An invalid line could hide a host's veto, so the cluster counts as unreachable.
    Setting("Roster") { draft, text, place throws(SettingError) in
      do throws(SettingError) {
        draft.settings.roster =
          text.isEmpty ? [] : try hosts((draft.settings.roster + [text]).joined(separator: " "))
      } catch {
        draft.settings.unreadable = "\(place)"
        throw error
      }
    },
    // If the value is invalid, a missing host must not let a question pass.
    Setting("OnMissingHost", \.settings.missing, strictly: .veto) { value throws(SettingError) in
      try SettingSyntax.word(value, ["abstain": .abstain, "veto": .veto])
    },
    .span("HostTimeoutSec", \.settings.hostTimeout, 1_000_000_000...hour),
    .count("Replicas", \.settings.replicas, 1...5),
    .size("DurableMaxBytes", \.settings.durableBytesMax, 64 << 10...1 << 40),
    .span("DurableMaxAgeSec", \.settings.durableAgeMax, hour...365 * 24 * hour),
    Setting("User", \.settings.login.user) { $0 },
    file("PasswordFile", \.settings.login.passwordFile),
    file("CredentialsFile", \.settings.login.credentialsFile),
    Setting("PublicKey", \.settings.login.publicKey) { $0 },
    file("SeedFile", \.settings.login.seedFile),
    file("AuthorityFile", \.settings.login.authorityFile),
    file("CertificateFile", \.settings.login.certificateFile),
    file("KeyFile", \.settings.login.keyFile),
  ]

  private var reader: SettingsReader<Draft>

  package init(hostName: String) {
    let settings = NATSSettings(hostName: hostName)
    reader = SettingsReader(Draft(settings: settings), Self.sections)
  }

  mutating func readAll(in directory: String?) { reader.read("nats.conf", in: directory) }

  package mutating func read(_ contents: [UInt8], file: String) { reader.read(contents, file: file) }

  package consuming func finish() -> (NATSSettings, [Diagnostic]) {
    let draft = reader.settings
    let (access, found) = draft.access.finish()
    var settings = draft.settings
    settings.fleetLock.access = access
    return (settings, reader.diagnostics + found)
  }

  /// Keeps an invalid path: without any path, a connection might not require TLS.
  private static func file(_ name: String, _ path: Setting<Draft>.Path<String>) -> Setting<Draft> {
    Setting(name) { draft, text, _ throws(SettingError) in
      draft[keyPath: path] = text
      guard text.isEmpty || text.hasPrefix("/") else { throw SettingError(text, "is not an absolute path") }
    }
  }

  /// A setting of one section. If the value in the file is invalid, the setting becomes `strict`.
  private static func strictly<One: Sendable, Value: Sendable>(
    _ name: String, _ all: Path<[One]>, _ pattern: any KeyPath<One, Pattern> & Sendable,
    _ path: any WritableKeyPath<One, Value> & Sendable, _ strict: Value,
    _ parse: @escaping @Sendable (String) throws(SettingError) -> Value
  ) -> Setting<Draft> {
    Setting(name) { draft, text, place throws(SettingError) in
      guard
        let index = draft.settings[keyPath: all].firstIndex(where: {
          $0[keyPath: pattern].text == place.subject
        })
      else { return }
      draft.settings[keyPath: all][index][keyPath: path] = strict
      draft.settings[keyPath: all][index][keyPath: path] = try parse(text)
    }
  }

  private static func adding<One: Sendable>(
    _ all: Path<[One]>, _ path: any KeyPath<One, Pattern> & Sendable,
    _ make: @escaping @Sendable (Pattern) throws(SettingError) -> One
  ) -> Section.Begin {
    { draft, place throws(SettingError) in
      let pattern = try Self.pattern(place.subject)
      if draft.settings[keyPath: all].contains(where: { $0[keyPath: path] == pattern }) { return }
      guard draft.settings[keyPath: all].count < patternsMax else {
        throw SettingError(message: "there are more than \(patternsMax) of these sections")
      }
      draft.settings[keyPath: all].append(try make(pattern))
    }
  }

  // MARK: Values

  private static func pattern(_ text: String) throws(SettingError) -> Pattern {
    guard !text.isEmpty else {
      throw SettingError(message: "the section needs a pattern, as in \"backup.**\"")
    }
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
      throw SettingError(text, "is not 1 to 63 letters A-Z, a-z, digits, _ or -")
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
    // The address may contain a password, which a message must not show.
    guard !servers.contains(where: { $0.contains("@") }) else {
      throw SettingError(
        message: "write a user and password in User= and PasswordFile=, not in an address")
    }
    for server in servers where !["nats://", "tls://"].contains(where: { server.hasPrefix($0) }) {
      throw SettingError(server, "does not begin with nats:// or tls://")
    }
    guard servers.allSatisfy({ $0.drop { $0 != "/" }.dropFirst(2).utf8.allSatisfy(isPartOfAddress) }) else {
      throw SettingError(message: "an address is a host with an optional port, as in nats://10.0.0.1:4222")
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
}
