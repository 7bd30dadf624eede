// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TribuneSystem
import TribuneWire

/// A program that runs beside the bus, such as a bridge.
@MainActor package protocol ServiceProgram: AnyObject, Sendable {
  associatedtype Settings: Sendable

  static var name: String { get }
  static var help: String { get }
  /// The names of the options without a value.
  static var flags: Set<String> { get }
  /// The names of the options with a value.
  static var options: Set<String> { get }
  /// True if the program must not start while its settings have an error, because a faulty setting could
  /// expose private data. A program that enforces vetoes must return false: while such a program does not
  /// run, its vetoes have no effect.
  static var needsFaultlessSettings: Bool { get }
  static func load(from directory: String?) -> (Settings, [Diagnostic])

  /// Must be called while the process has one thread.
  init(_ settings: Settings, _ arguments: ServiceArguments) throws
  /// Returns when the program is ready to serve.
  func start() async
  func stop() async
  /// Applies changed settings. Nil if changed settings need a restart of the program.
  var reconfigure: ((Settings) -> Void)? { get }
}

extension ServiceProgram {
  package static var flags: Set<String> { [] }
  package static var options: Set<String> { [] }
  package static var needsFaultlessSettings: Bool { false }
  package func stop() async {}
  package var reconfigure: ((Settings) -> Void)? { nil }

  package static func main() -> Never {
    ThisProcess.begin(name, failure: 1)
    ThisProcess.exit(
      run(Environment.arguments.dropFirst().map { String(decoding: $0, as: UTF8.self) }))
  }

  private static func run(_ arguments: [String]) -> Int32 {
    do throws(UsageError) {
      let arguments = try ServiceArguments(parsing: arguments, flags: flags, options: options)
      switch arguments.action {
      case .help: return StandardOutput.show(help, by: name)
      case .version: return StandardOutput.show("\(name) \(Version.current)", by: name)
      case .checkConfiguration: return Diagnostic.printAll(load(from: arguments.configurationDirectory).1)
      case .serve: return serve(arguments)
      }
    } catch {
      StandardError.writeLine("\(name): \(error)\nTry \"\(name) --help\".")
      return 2
    }
  }

  private static func serve(_ arguments: ServiceArguments) -> Int32 {
    let (settings, diagnostics) = load(from: arguments.configurationDirectory)
    let isFaulty = log(diagnostics)
    if isFaulty, needsFaultlessSettings {
      ServiceLog.error("not starting with a configuration that has errors")
      return 1
    }
    // Without this call, a write to a peer that has hung up would end the process by SIGPIPE.
    Signals.ignore(Signals.brokenPipe)
    do {
      try Self(settings, arguments).run(readingFrom: arguments.configurationDirectory)
    } catch {
      ServiceLog.error("cannot start: \(error)")
      return 1
    }
  }

  private func run(readingFrom directory: String?) -> Never {
    let signals = SignalSources()
    for signal in [Signals.terminate, Signals.interrupt] {
      signals.on(signal) { [self] in
        ServiceNotifier.service.stopping()
        Task {
          await stop()
          ThisProcess.exit(0)
        }
      }
    }
    signals.on(Signals.hangUp) { [self] in reload(from: directory) }
    Task {
      await start()
      ServiceNotifier.service.ready()
      ServiceNotifier.service.startWatchdog()
    }
    withExtendedLifetime(signals) { dispatchMain() }
  }

  private func reload(from directory: String?) {
    guard let reconfigure else {
      return ServiceLog.notice(
        "SIGHUP has no effect: \"systemctl restart \(Self.name)\" reads the configuration again")
    }
    let (settings, diagnostics) = ConfigurationFiles.reload(directory) { Self.load(from: directory) }
    if Self.log(diagnostics) {
      ServiceLog.error("the configuration has errors; the old one stays in force")
    } else {
      reconfigure(settings)
      ServiceLog.info("the configuration was read again")
    }
  }

  private static func log(_ diagnostics: [Diagnostic]) -> Bool {
    for diagnostic in diagnostics {
      if diagnostic.severity == .warning {
        ServiceLog.warning("\(diagnostic)")
      } else {
        ServiceLog.error("\(diagnostic)")
      }
    }
    return diagnostics.contains { $0.severity == .error }
  }
}
