// SPDX-License-Identifier: Apache-2.0

package import TribuneService

/// The daemon's command line.
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
  /// Nil for a path beside the bus's socket, unless `listenPath` is set; `none` to disable Varlink.
  package var varlinkPath: String?
  package var keeperPath: String?
  package var configurationDirectory = ConfigurationFiles.systemDirectory
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

    The Tribune bus: carries notifications between the processes of this host, and
    puts questions to their delegates.

      --listen=PATH    Listen on a socket at PATH, unless systemd passes one
      --varlink=PATH   Take Varlink calls on a socket at PATH, unless systemd passes
                       one named varlink; none for no such socket
      --keeper=PATH    Have connections kept by the keeper at PATH, so that they
                       outlast this process
      --keep           Be a keeper, which listens at --listen=PATH
      --config=DIR     Read tribuned.conf, tribuned.conf.d/, protocols.d/ and
                       policy.d/ in DIR (default: /etc/tribune)
      --user           Run as one user's bus rather than the system's
      --check-config   Say what is wrong with the configuration, and exit
      --live           With --check-config: ask the bus that runs at --listen=PATH
                       what its clients would lose if it read this policy
      --help, -h       Show this and exit
      --version        Show the version and exit

    Without --listen the socket is $RUNTIME_DIRECTORY/bus,
    $XDG_RUNTIME_DIR/tribune/bus or /run/tribune/bus, the first that applies, and
    Varlink's is io.tribune.Bus beside it.

    SIGHUP reads the configuration again. SIGTERM leaves the bus to the next daemon
    if there is a keeper, and ends it otherwise; SIGINT ends it for good.
    """
}
