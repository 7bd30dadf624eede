// SPDX-License-Identifier: Apache-2.0

package import TribuneService

/// The command line of tribune-nats.
nonisolated package struct NATSArguments: Equatable, Sendable {
  package enum Action: Equatable, Sendable {
    case serve
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
    Usage: tribune-nats [OPTION]...

    Connects the Tribune buses of several hosts through NATS: questions that are about the
    cluster are asked of each host, and chosen notifications cross.

      --config=DIR     Read nats.conf and its drop-ins in DIR (default: /etc/tribune)
      --check-config   Say what is wrong with the configuration, and exit
      --help, -h       Show this and exit
      --version        Show the version and exit

    The bus is the one that $TRIBUNE_ADDRESS names, or the system's.
    """
}
