// SPDX-License-Identifier: Apache-2.0

package import TribuneService

nonisolated package struct DaemonArguments: Equatable, Sendable {
  package enum Action: Equatable, Sendable {
    case serve
    case keep
    case checkConfiguration
    case help
    case version
  }

  package var action = Action.serve
  package var listenPath: String?
  /// The path of the Varlink socket, or `none` to disable Varlink. If this path and `listenPath` are nil, the
  /// Varlink socket is in the folder of the bus's socket. If only this path is nil, Varlink is disabled.
  package var varlinkPath: String?
  package var keeperPath: String?
  /// Nil means /etc/tribune.
  package var configurationDirectory: String?
  package var isUserInstance = false
  package var asksLiveBus = false

  package init() {}

  package init(parsing arguments: [String]) throws(UsageError) {
    let given = try ServiceArguments(
      parsing: arguments, flags: ["--user", "--keep", "--live"],
      options: ["--listen", "--varlink", "--keeper"])
    listenPath = given["--listen"]
    varlinkPath = given["--varlink"]
    keeperPath = given["--keeper"]
    configurationDirectory = given.configurationDirectory
    isUserInstance = given.names.contains("--user")
    asksLiveBus = given.names.contains("--live")
    let isKeeper = given.names.contains("--keep")
    switch given.action {
    case .serve: action = isKeeper ? .keep : .serve
    case .checkConfiguration: action = .checkConfiguration
    case .help: action = .help
    case .version: action = .version
    }
    guard !isKeeper || given.names.isSubset(of: ["--keep", "--listen", "--help", "-h", "--version"]) else {
      throw UsageError(description: "--keep can be combined with --listen=PATH only")
    }
    guard !asksLiveBus || given.names.contains("--check-config") else {
      throw UsageError(description: "--live needs --check-config")
    }
  }

  package static let help = """
    Usage: tribuned [OPTION]...

    The Tribune bus: delivers notifications between this host's processes, and asks
    their delegates questions.

      --listen=PATH    Listen on a socket at PATH, unless systemd passes one
      --varlink=PATH   Take Varlink calls on a socket at PATH, unless systemd passes
                       one named varlink; none: take no calls
      --keeper=PATH    Keep connections with the keeper at PATH: they outlast this
                       process
      --keep           Run as a keeper, which listens at --listen=PATH
      --config=DIR     Read tribuned.conf, tribuned.conf.d/, protocols.d/ and
                       policy.d/ in DIR (default: /etc/tribune)
      --user           Run as one user's bus, not the system's
      --check-config   Report problems of the configuration, and exit
      --live           With --check-config: ask the running bus at --listen=PATH
                       what this policy would take from its clients
      --help, -h       Show this help
      --version        Show the version

    Without --listen the socket is $RUNTIME_DIRECTORY/bus,
    $XDG_RUNTIME_DIR/tribune/bus or /run/tribune/bus, the first that applies, and
    Varlink's is io.tribune.Bus beside it.

    SIGHUP reloads the configuration. SIGTERM hands the bus over to the next daemon,
    or, without a keeper, stops it. SIGINT always stops it.
    """
}
