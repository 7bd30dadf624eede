// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TribuneService
import TribuneSystem
import TribuneWire

/// The process around the gateway: arguments, configuration, signals and the service manager.
package final class NATSProgram {
  private let gateway: Gateway
  private let signals = SignalSources()

  /// Runs the program; returns its exit status, or serves for as long as the process lives.
  nonisolated package static func main(_ arguments: [String]) -> Int32 {
    StandardDescriptors.fill()
    do throws(UsageError) {
      let arguments = try NATSArguments(parsing: arguments)
      switch arguments.action {
      case .help: print(NATSArguments.help)
      case .version: print("tribune-nats \(Version.current)")
      case .checkConfiguration: return Diagnostic.reportAll(load(arguments).1)
      case .serve: return MainActor.assumeIsolated { run(arguments) }
      }
      return 0
    } catch {
      StandardError.writeLine("tribune-nats: \(error)\nTry \"tribune-nats --help\".")
      return 2
    }
  }

  nonisolated private static func load(_ arguments: NATSArguments) -> (NATSSettings, [Diagnostic]) {
    NATSSettings.load(from: arguments.configurationDirectory, hostName: HostName.current)
  }

  private static func run(_ arguments: NATSArguments) -> Int32 {
    let (settings, diagnostics) = load(arguments)
    // A mistake must not keep vetoes from having an effect.
    for diagnostic in diagnostics { ServiceLog.error("\(diagnostic)") }
    // A server of NATS that hangs up must not end the process.
    Signals.ignore(Signals.brokenPipe)
    let program = NATSProgram(settings)
    program.takeSockets()
    program.start()
    dispatchMain()
  }

  private init(_ settings: NATSSettings) {
    gateway = Gateway(settings) { ManagerNotice.send("STATUS=\($0.escaped)") }
  }

  private func takeSockets() {
    do throws(Errno) {
      gateway.serve(try PassedToService.take())
    } catch {
      ServiceLog.error("the sockets that were passed cannot be taken: \(error)")
    }
  }

  private func start() {
    for signal in [Signals.terminate, Signals.interrupt] {
      signals.on(signal) {
        ManagerNotice.send("STOPPING=1")
        ThisProcess.exit(0)
      }
    }
    signals.on(Signals.hangUp) {
      ServiceLog.notice(
        "SIGHUP has no effect: \"systemctl restart tribune-nats\" reads the configuration again")
    }
    Task {
      await gateway.start()
      ManagerNotice.send("READY=1", waits: true)
      await ManagerNotice.keepWatchdog()
    }
  }
}
