// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribunePolicy
package import TribuneProtocols
package import TribuneService
import TribuneSystem
import TribuneWire

/// Reads configuration files into one configuration. Continues after errors, to report all of them.
nonisolated package struct ConfigurationReader {
  private var reader: SettingsReader<Configuration>
  private var policy = PolicyParser(.ofHost)
  private var hasPolicy = false
  private let hasUnits: Bool

  package init(defaults: Configuration, hasUnits: Bool = true) {
    reader = SettingsReader(defaults, Configuration.sections)
    self.hasUnits = hasUnits
  }

  package mutating func readAll(in named: String?) {
    reader.read("tribuned.conf", in: named)
    let directory = named ?? ConfigurationFiles.systemDirectory
    readAll(in: "\(directory)/protocols.d", endingIn: [".protocol"], .mistake) {
      $0.read(ProtocolSource(file: $2, text: $1))
    }
    // An unreadable file is an error: without this file, the policy could allow what the file denies.
    readAll(in: "\(directory)/policy.d", endingIn: [".policy", ".test"], .error) {
      if $2.hasSuffix(".test") { $0.read(policyTests: $1, file: $2) } else { $0.read(policy: $1, file: $2) }
    }
  }

  private mutating func readAll(
    in directory: String, endingIn suffixes: [String], _ severity: Diagnostic.Severity,
    _ take: (inout ConfigurationReader, _ contents: [UInt8], _ path: String) -> Void
  ) {
    do throws(SettingError) {
      let (paths, misnamed) = try ConfigurationFiles.paths(in: directory, endingIn: suffixes)
      for diagnostic in misnamed { reader.add(diagnostic) }
      for path in paths {
        do throws(SettingError) {
          guard let contents = try ConfigurationFiles.read(path) else {
            throw SettingError(message: "does not exist")
          }
          take(&self, contents, path)
        } catch {
          diagnose(severity, path, nil, error.message)
        }
      }
    } catch {
      diagnose(severity, directory, nil, error.message)
    }
  }

  package mutating func read(_ contents: [UInt8], file: String) { reader.read(contents, file: file) }

  package mutating func read(_ source: ProtocolSource) { reader.stated.protocolSources.append(source) }

  package mutating func read(policy contents: [UInt8], file: String) {
    hasPolicy = true
    policy.read(contents, file: file)
  }

  package mutating func read(policyTests contents: [UInt8], file: String) {
    policy.read(tests: contents, file: file)
  }

  package consuming func finish() -> (Configuration, [Diagnostic]) {
    for rule in SettingRule.all {
      guard let violation = rule.violation(in: reader.settings) else { continue }
      let lines = rule.keys.compactMap { key in reader.lines.lastIndex { $0.key == key } }
      // An invalid setting was already reported, so a rule about this setting needs no further message.
      guard lines.allSatisfy({ reader.lines[$0].isValid }), let last = lines.max() else { continue }
      reader.diagnose(rule.severity, reader.lines[last].place, violation)
    }
    checkUnits()
    checkProtocols()
    checkLength()
    finishPolicy()
    return (reader.settings, reader.diagnostics)
  }

  private mutating func finishPolicy() {
    for diagnostic in policy.diagnostics {
      reader.add(
        Diagnostic(
          diagnostic.isWarning ? .warning : .error, diagnostic.file, diagnostic.line,
          column: diagnostic.column, diagnostic.message))
    }
    guard hasPolicy else {
      for test in policy.tests.prefix(1) {
        diagnose(.warning, test.origin.file, nil, "is about a policy, but there is no .policy file")
      }
      return
    }
    let policy = Policy(self.policy.lines)
    reader.stated.access = policy
    if let line = policy.opensAll {
      diagnose(.warning, line.origin.file, line.origin.number, "every user may do everything on this bus")
    }
    for test in self.policy.tests {
      guard let failure = test.failure(of: policy) else { continue }
      diagnose(.mistake, test.origin.file, test.origin.number, failure)
    }
  }

  private mutating func checkUnits() {
    if hasUnits { return }
    for rule in reader.settings.policy.queryRules {
      let place = reader.lines.last {
        $0.key == "RequireDelegate" && $0.place.subject == rule.pattern.text
      }?.place
      for case .unit(let name) in rule.required {
        diagnose(
          .warning, place?.file ?? "", place?.line,
          """
          no delegate can be in the unit \(name.escaped), because systemd does not run here: the bus vetoes \
          \(rule.pattern.text.escaped) until you require a label instead
          """)
      }
    }
  }

  private mutating func checkProtocols() {
    let configuration = reader.settings
    if configuration.protocolSources.isEmpty, configuration.objects.isEmpty { return }
    var library = ProtocolLibrary<Never>()
    for mistake in library.load(configuration.protocolSources) {
      reader.add(
        Diagnostic(
          .mistake, mistake.location.file, mistake.location.line, column: mistake.location.column,
          mistake.message.escaped))
    }
    let lines = reader.lines.filter { $0.key == "Protocol" }.map { ($0.place.subject, $0.place) }
    let places = Dictionary(lines) { $1 }
    for rule in configuration.objects where library[rule.protocolName] == nil {
      let origin = places[rule.pattern.text]
      diagnose(
        .mistake, origin?.file ?? "", origin?.line,
        "Protocol=: there is no protocol \"\(rule.protocolName.escaped)\" in protocols.d")
    }
  }

  /// The log contains the configuration, which must leave space for everything else.
  private mutating func checkLength() {
    let configuration = reader.settings
    if configuration.policy == BusPolicy(), configuration.objects.isEmpty { return }
    let length = Bus.loggedLength(of: configuration)
    let lengthMax = configuration.logMaxBytes / 16
    guard length > lengthMax else { return }
    let origin = reader.lines.last { $0.key == "LogMax" }?.place
    diagnose(
      .error, origin?.file ?? "tribuned.conf", origin?.line,
      """
      LogMax= is too small: the [Query] and [Object] sections with their protocols take \(length) bytes in the log, \
      and may take a sixteenth of it, \(lengthMax) bytes
      """)
  }

  private mutating func diagnose(
    _ severity: Diagnostic.Severity, _ file: String, _ line: Int?, _ message: String
  ) {
    reader.add(Diagnostic(severity, file, line, message))
  }
}

nonisolated extension Configuration {
  /// Reads the files in `directory`. If a file is missing, the defaults apply. A broken link is an error, and
  /// so is a missing directory other than the default one. If the bus ignored such an error, it would start
  /// without the operator's requirements, and without a message.
  ///
  /// - Parameter hasUnits: true if a process can be in a unit of the system's service manager.
  /// - Returns: the configuration, which is unusable if a diagnostic is an error; and all diagnostics.
  package static func load(
    from directory: String?, defaults: Configuration = Configuration(), hasUnits: Bool = true
  ) -> (Configuration, [Diagnostic]) {
    var reader = ConfigurationReader(defaults: defaults, hasUnits: hasUnits)
    reader.readAll(in: directory)
    return reader.finish()
  }
}
