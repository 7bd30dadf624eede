// SPDX-License-Identifier: Apache-2.0

package import TribuneService
import TribuneSystem

package final class LogindProgram: ServiceProgram {
  package static let name = "tribune-logind"
  package static let flags: Set = ["--unmask"]

  private let mask: TargetMask
  /// Nil with `--unmask`.
  private let bridge: LogindBridge?

  package static func load(from directory: String?) -> (LogindSettings, [Diagnostic]) {
    var reader = LogindSettingsReader()
    reader.readAll(in: directory)
    return reader.finish()
  }

  package init(_ settings: LogindSettings, _ arguments: ServiceArguments) throws {
    mask = TargetMask()
    bridge =
      arguments.names.contains("--unmask")
      ? nil
      : LogindBridge(
        settings, store: try DescriptorStore(), mask: mask, status: ServiceNotifier.service.status)
  }

  package func start() async {
    if let bridge { return await bridge.start() }
    do {
      // systemd sets `SERVICE_RESULT` for ExecStopPost= commands.
      let isService = Environment.value(of: "SERVICE_RESULT") != nil
      try await mask.end(after: isService ? "\(Self.name).service" : nil)
      ThisProcess.exit(0)
    } catch {
      ServiceLog.error("cannot take back what was masked: \(error)")
      ThisProcess.exit(1)
    }
  }

  package func stop() async {
    // The bridge leaves its masks in place: after the service has ended, systemd runs this program with
    // `--unmask`. Without a bridge, this process runs with `--unmask`, and a signal has interrupted it.
    if bridge == nil { ThisProcess.exit(1) }
  }

  package var reconfigure: ((LogindSettings) -> Void)? { { [bridge] in bridge?.reconfigure($0) } }

  package static let help = """
    Usage: tribune-logind [OPTION]...

    Connects the Tribune bus with systemd-logind: vetoes on the bus block logind, its
    locks become holds on the bus, and observers are notified before the host goes down.

      --config=DIR     Read logind.conf, signals.conf and their drop-ins in DIR
                       (default: /etc/tribune)
      --check-config   Report problems of the configuration, and exit
      --unmask         Remove the masks of an earlier process, and exit
      --help, -h       Show this help
      --version        Show the version

    SIGHUP reloads the configuration. To use another bus than the system's, set
    $TRIBUNE_ADDRESS.
    """
}
