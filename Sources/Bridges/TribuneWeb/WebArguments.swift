// SPDX-License-Identifier: Apache-2.0

package import TribuneService

/// The command line of tribune-web.
nonisolated package struct WebArguments: Equatable, Sendable {
  package enum Action: Equatable, Sendable {
    case serve
    case checkConfiguration
    case help
    case version
  }

  package var action = Action.serve
  package var configurationDirectory = ConfigurationFiles.systemDirectory
  package var pageDirectory = "/usr/share/tribune/web"

  /// - Parameter arguments: without the program's name.
  package init(parsing arguments: [String]) throws(UsageError) {
    for argument in arguments {
      switch argument {
      case "--check-config": action = .checkConfiguration
      case "--help", "-h": action = .help
      case "--version": action = .version
      case _ where argument.hasPrefix("--config=") && argument.count > 9:
        configurationDirectory = String(argument.dropFirst(9))
      case _ where argument.hasPrefix("--page=") && argument.count > 7:
        pageDirectory = String(argument.dropFirst(7))
      default:
        throw UsageError(unknown: argument)
      }
    }
  }

  package static let help = """
    Usage: tribune-web [OPTION]...

    Shows the Tribune bus as a web page, and its counters to Prometheus. Serves the
    sockets that systemd passes.

      --config=DIR     Read web.conf and its drop-ins in DIR (default: /etc/tribune)
      --page=DIR       Serve the files of the page from DIR
                       (default: /usr/share/tribune/web)
      --check-config   Say what is wrong with the configuration, and exit
      --help, -h       Show this and exit
      --version        Show the version and exit

    The bus is the one that $TRIBUNE_ADDRESS names, or the system's.
    """
}
