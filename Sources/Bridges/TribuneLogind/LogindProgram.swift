// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TribuneService
import TribuneSystem
import TribuneWire

/// The process around the bridge: arguments, configuration, signals and the service manager.
package final class LogindProgram {
  private let arguments: LogindArguments
  private let bridge: LogindBridge
  private let signals = SignalSources()

  /// Runs the program; returns its exit status, or serves for as long as the process lives.
  nonisolated package static func main(_ arguments: [String]) -> Int32 {
    StandardDescriptors.fill()
    do throws(UsageError) {
      let arguments = try LogindArguments(parsing: arguments)
      switch arguments.action {
      case .help: print(LogindArguments.help)
      case .version: print("tribune-logind \(Version.current)")
      case .checkConfiguration:
        return Diagnostic.reportAll(LogindSettings.load(from: arguments.configurationDirectory).1)
      case .unmask, .serve: return MainActor.assumeIsolated { run(arguments) }
      }
      return 0
    } catch {
      StandardError.writeLine("tribune-logind: \(error)\nTry \"tribune-logind --help\".")
      return 2
    }
  }

  private static func run(_ arguments: LogindArguments) -> Int32 {
    do throws(Errno) {
      let mask = try TargetMask()
      if arguments.action == .unmask {
        unmask(mask)
      } else {
        let (settings, diagnostics) = LogindSettings.load(from: arguments.configurationDirectory)
        // A mistake must not keep vetoes from having an effect.
        for diagnostic in diagnostics { ServiceLog.error("\(diagnostic)") }
        let program = LogindProgram(arguments, settings, try DescriptorStore(), mask)
        program.start()
      }
      dispatchMain()
    } catch {
      ServiceLog.error("cannot start: \(error)")
      return 1
    }
  }

  private static func unmask(_ mask: TargetMask) {
    Task {
      do {
        _ = try await mask.update([])
        ThisProcess.exit(0)
      } catch {
        ServiceLog.error("cannot take back what was masked: \(error)")
        ThisProcess.exit(1)
      }
    }
  }

  private init(
    _ arguments: LogindArguments, _ settings: LogindSettings, _ store: DescriptorStore, _ mask: TargetMask
  ) {
    self.arguments = arguments
    bridge = LogindBridge(settings, store: store, mask: mask) { ManagerNotice.send("STATUS=\($0.escaped)") }
  }

  private func start() {
    signals.on(Signals.hangUp) { [self] in reload() }
    for signal in [Signals.terminate, Signals.interrupt] { signals.on(signal) { [self] in stop() } }
    Task {
      await bridge.start()
      ManagerNotice.send("READY=1", waits: true)
      await ManagerNotice.keepWatchdog()
    }
  }

  private func stop() {
    ManagerNotice.send("STOPPING=1")
    Task {
      await bridge.stop()
      ThisProcess.exit(0)
    }
  }

  private func reload() {
    let (settings, diagnostics) = LogindSettings.load(from: arguments.configurationDirectory)
    for diagnostic in diagnostics { ServiceLog.warning("\(diagnostic)") }
    if diagnostics.contains(where: { $0.severity == .error }) {
      ServiceLog.error("the configuration has errors; the old one stays in force")
    } else {
      bridge.reconfigure(settings)
      ServiceLog.info("the configuration was read again")
    }
  }
}
