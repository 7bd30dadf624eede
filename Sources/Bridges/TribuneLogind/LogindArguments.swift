// SPDX-License-Identifier: Apache-2.0

package import TribuneService

/// The command line of tribune-logind.
nonisolated package struct LogindArguments: Equatable, Sendable {
  package enum Action: Equatable, Sendable {
    case serve
    /// Take back what an earlier process has masked.
    case unmask
    case checkConfiguration
    case help
    case version
  }

  package var action = Action.serve
  package var configurationDirectory = ConfigurationFiles.systemDirectory

  /// - Parameter arguments: without the program's name.
  package init(parsing arguments: [String]) throws(UsageError) {
    for argument in arguments {
      switch argument {
      case "--unmask": action = .unmask
      case "--check-config": action = .checkConfiguration
      case "--help", "-h": action = .help
      case "--version": action = .version
      case _ where argument.hasPrefix("--config=") && argument.count > 9:
        configurationDirectory = String(argument.dropFirst(9))
      default:
        throw UsageError(unknown: argument)
      }
    }
  }

  package static let help = """
    Usage: tribune-logind [OPTION]...

    Connects the Tribune bus with systemd-logind: vetoes on the bus block logind, locks
    of logind are holds on the bus, and observers are told before the host goes down.

      --config=DIR     Read logind.conf, signals.conf and their drop-ins in DIR
                       (default: /etc/tribune)
      --check-config   Say what is wrong with the configuration, and exit
      --unmask         Take back what an earlier process has masked, and exit
      --help, -h       Show this and exit
      --version        Show the version and exit

    SIGHUP reads the configuration again. The bus is the one that $TRIBUNE_ADDRESS names,
    or the system's.
    """
}
