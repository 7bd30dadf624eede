// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TribuneCore
import TribuneService
import TribuneSystem
import TribuneVarlink
import TribuneWire

/// The process around the bus: command line, configuration, sockets, signals and the service manager.
package final class Daemon {
  private static let stopGraceNanoseconds: UInt64 = 2_000_000_000
  private static let flushGrace = Duration.seconds(2)
  private static let statusIntervalSeconds = 5

  private static let signals = [Signals.terminate, Signals.interrupt, Signals.hangUp]

  private let arguments: DaemonArguments
  private let log: Log
  private let bus: BusInstance
  private var server: BusServer { bus.server }
  private let notifier: ServiceNotifier
  private let signals = SignalSources()
  private var socketFiles: SocketFileWatch?
  private var socketMode: UInt32
  /// Paths of sockets that no longer lead to this bus.
  private var lostPaths: Set<String> = []
  private var checksAgain = false
  private var lastStatus = ""
  private var notifiedChangeCount: UInt64 = 0
  private var isStopping = false
  private var isReloading = false
  private var mustReloadAgain = false

  /// - Returns: the exit status: 0 after an orderly end, 1 after an error, 2 for wrong usage.
  package static func main(_ arguments: [String]) -> Int32 {
    ThisProcess.begin("tribuned", failure: 1)
    let parsed: DaemonArguments
    do throws(UsageError) {
      parsed = try DaemonArguments(parsing: arguments)
    } catch {
      StandardError.writeLine("tribuned: \(error)\nTry \"tribuned --help\".")
      return 2
    }
    switch parsed.action {
    case .help: return StandardOutput.show(DaemonArguments.help, by: "tribuned")
    case .version: return StandardOutput.show("tribuned \(Version.current)", by: "tribuned")
    case .checkConfiguration: return checkConfiguration(parsed)
    case .serve: return serve(parsed)
    case .keep: return KeeperProcess.run(listeningAt: parsed.listenPath, Log())
    }
  }

  private static func checkConfiguration(_ arguments: DaemonArguments) -> Int32 {
    let (configuration, diagnostics) = loadConfiguration(arguments)
    let status = Diagnostic.printAll(diagnostics)
    // Failed policy tests do not end the check here, because a reload accepts a policy despite failed tests.
    guard arguments.asksLiveBus, !diagnostics.contains(where: { $0.severity == .error }) else {
      return status
    }
    let path = livePath(arguments)
    let endings: [EndingEntry]
    do {
      endings = try LiveBus(at: path).endings(by: configuration.access)
    } catch {
      let why = (error as? WireError)?.message ?? "\(error)"
      StandardError.writeLine("tribuned: the bus at \(path) does not say what would end: \(why)")
      return 1
    }
    var lines = endings.map { "\($0.connection) of \($0.peer.summary): \($0.why)\n" }
    if lines.isEmpty { lines = ["Nothing would end.\n"] }
    do throws(Errno) {
      try StandardOutput.write(Array(lines.joined().utf8))
      return status
    } catch {
      StandardError.writeLine("tribuned: cannot write to standard output: \(error)")
      return 1
    }
  }

  /// The path of the running bus's socket. Without --user, ignores this process's environment, which can
  /// differ from that of the bus.
  private static func livePath(_ arguments: DaemonArguments) -> String {
    arguments.listenPath ?? (arguments.isUserInstance ? listenPath(arguments) : "/run/tribune/bus")
  }

  private static func serve(_ arguments: DaemonArguments) -> Int32 {
    // Block the signals before the first thread starts, because threads inherit the mask. An early signal
    // stays pending until Dispatch handles it.
    SignalMask(Self.signals).block()
    let log = Log()
    defer { log.flush(within: flushGrace) }
    let (configuration, diagnostics) = loadConfiguration(arguments)
    write(diagnostics, to: log)
    guard !diagnostics.contains(where: { $0.severity == .error }) else {
      log.error("not starting with a configuration that has errors")
      return 1
    }
    log.level = configuration.logLevel
    raiseDescriptorLimit(log)
    do {
      let passed = try PassedAtStart.take()
      let daemon = try listening(arguments, configuration, passed, log)
      daemon.start()
      do {
        try daemon.bus.run()
      } catch {
        daemon.bus.endTakeOver()
        throw error
      }
      daemon.log.info("stopped")
      return 0
    } catch {
      log.error("\(error)")
      return 1
    }
  }

  private static func listening(
    _ arguments: DaemonArguments, _ configuration: Configuration, _ passed: PassedAtStart, _ log: Log
  ) throws -> Daemon {
    let daemon = try Daemon(arguments, configuration, passed, log)
    daemon.bus.takeOver()
    do {
      try daemon.listen()
    } catch {
      daemon.bus.endTakeOver()
      throw error
    }
    return daemon
  }

  private init(
    _ arguments: DaemonArguments, _ configuration: Configuration, _ passed: PassedAtStart, _ log: Log
  ) throws {
    self.arguments = arguments
    self.log = log
    socketMode = configuration.socketMode
    bus = try BusInstance(configuration, taking: passed, keptBy: arguments.keeperPath, log: log)
    notifier = ServiceNotifier { [log] in log.warning($0) }
  }

  nonisolated private static func loadConfiguration(_ arguments: DaemonArguments) -> (
    Configuration, [Diagnostic]
  ) {
    Configuration.load(
      from: arguments.configurationDirectory,
      defaults: arguments.isUserInstance ? .forUser : Configuration(), hasUnits: PeerUnits.exist)
  }

  private static func write(_ diagnostics: [Diagnostic], to log: Log) {
    for diagnostic in diagnostics {
      log.write(diagnostic.severity == .warning ? .warning : .error, "\(diagnostic)")
    }
  }

  // MARK: Starting

  /// Each client takes one descriptor of this process, so the default limit would keep clients out.
  private static func raiseDescriptorLimit(_ log: Log) {
    do throws(Errno) {
      try ThisProcess.raiseDescriptorLimit()
    } catch {
      log.warning("cannot raise the limit of open descriptors: \(error)")
    }
  }

  private func listen() throws {
    let passed = bus.passed.takeListening()
    for socket in passed {
      let descriptor = FileDescriptor(owning: socket.descriptor)
      let path = UnixSocket.path(of: descriptor)
      let isVarlink = socket.name == Self.varlinkName
      try bus.listen(on: try Listener(passed: descriptor, path: path, isVarlink: isVarlink))
      log.info("listening on \(path), passed as \(socket.name)")
    }
    if let path = Self.varlinkPath(arguments), passed.isEmpty {
      try listen(at: path, isVarlink: true)
    }
    let first = server.acceptor.listeners.first { !$0.isVarlink }
    let path = first?.path ?? Self.listenPath(arguments)
    if first == nil { try listen(at: path) }
    server.lister.address = "unix:\(path)"
  }

  private func listen(at path: String, isVarlink: Bool = false) throws {
    let what = isVarlink ? "listening for Varlink on" : "listening on"
    // If the keeper passed the previous daemon's socket, this daemon takes the socket over. Clients that have
    // connected since the previous daemon ended wait in the socket's queue.
    if let file = SocketFile(at: path), let kept = bus.passed.takeListener(inode: file.inode) {
      try bus.listen(on: try Listener(takenOver: kept, path: path, file: file, isVarlink: isVarlink))
      server.acceptor.setMode(socketMode)
      log.info("\(what) \(path), taken over from another daemon")
    } else {
      try bus.listen(on: try Listener(path: path, mode: socketMode, isVarlink: isVarlink))
      log.info("\(what) \(path)")
    }
  }

  private func watchSocketFiles() {
    do throws(Errno) {
      let files = try SocketFileWatch { [weak self] in self?.checkSocketFiles() }
      for listener in server.acceptor.listeners { try files.add(listener) }
      socketFiles = files
    } catch {
      log.warning("cannot watch the socket's file: \(error)")
    }
    checkSocketFiles()
  }

  private func checkSocketFiles() {
    guard !isStopping else { return }
    // A path can have several listeners, one for each file that the bus has made there. If the path leads to
    // one of these files, clients reach the bus.
    let listeners = Dictionary(grouping: server.acceptor.listeners, by: \.path)
    for (path, listeners) in listeners.sorted(by: { $0.key < $1.key }) {
      if listeners.contains(where: \.isReached) {
        lostPaths.remove(path)
      } else if let listener = listeners.last {
        makeAgain(listener)
      }
    }
    guard !checksAgain, server.acceptor.listeners.contains(where: { $0.isOwn && lostPaths.contains($0.path) })
    else { return }
    // The kernel does not report when a removed folder exists again, so a timer checks.
    checksAgain = true
    DispatchQueue.main.asyncAfter(deadline: .now() + 1) { [weak self] in
      MainActor.assumeIsolated {
        self?.checksAgain = false
        self?.checkSocketFiles()
      }
    }
  }

  private func makeAgain(_ listener: Listener) {
    let isNew = lostPaths.insert(listener.path).inserted
    let loss = "the file of the socket \(listener.path) was removed or replaced"
    // While the folder is missing, the bus makes no file: removing a whole folder is probably intended.
    guard listener.isOwn, !Folder.lacks(Array(Folder.parent(of: listener.path).utf8)) else {
      if isNew { log.error("\(loss), and clients no longer reach this bus") }
      return
    }
    if isNew { log.error("\(loss); making it again") }
    do {
      try listen(at: listener.path, isVarlink: listener.isVarlink)
      lostPaths.remove(listener.path)
      if let new = server.acceptor.listeners.last { try socketFiles?.add(new) }
    } catch {
      if isNew { log.error("\(error); clients there do not meet the holds and delegates of this bus") }
    }
  }

  private static let varlinkName = "varlink"

  /// The path of the Varlink socket; nil if Varlink is disabled. The default is in the folder of the bus's
  /// socket. If the command line has a path only for the bus's socket, Varlink is disabled.
  private static func varlinkPath(_ arguments: DaemonArguments) -> String? {
    switch arguments.varlinkPath {
    case "none": nil
    case let path?: path
    case nil:
      arguments.listenPath == nil
        ? "\(Folder.parent(of: listenPath(arguments)))/\(VarlinkInterface.bus)" : nil
    }
  }

  private static func listenPath(_ arguments: DaemonArguments) -> String {
    if let path = arguments.listenPath { return path }
    if let folder = Environment.nonEmptyValue(of: "RUNTIME_DIRECTORY") {
      // The variable can have several folders, separated by colons (systemd.exec(5)).
      return "\(folder.prefix { $0 != ":" })/bus"
    }
    if let folder = Environment.nonEmptyValue(of: "XDG_RUNTIME_DIR") { return "\(folder)/tribune/bus" }
    return "/run/tribune/bus"
  }

  private func start() {
    Signals.ignore(Signals.brokenPipe)
    signals.on(Signals.terminate) { [weak self] in self?.stop() }
    signals.on(Signals.interrupt) { [weak self] in self?.stop(isForGood: true) }
    signals.on(Signals.hangUp) { [weak self] in self?.reload() }
    watchSocketFiles()
    notifier.startWatchdog()
    bus.start { [weak self] in
      self?.server.iterationEnded = { [weak self] in self?.followStatus() }
      self?.followStatus()
    }
    // Wake the event loop: the first iteration ends the take-over, and must not wait for a client's input.
    DispatchQueue.main.async {}
    notifyReady()
    do throws(Errno) {
      try ProgramText.release()
    } catch {
      log.debug("cannot free the memory that only starting needed: \(error)")
    }
  }

  private func notifyReady() {
    lastStatus = server.lister.status
    notifiedChangeCount = server.lister.changeCount
    notifier.ready(status: lastStatus)
  }

  // MARK: Running

  /// Sends the service manager one status for all changes within `statusIntervalSeconds`.
  private func followStatus() {
    guard !isStopping, server.lister.changeCount != notifiedChangeCount else { return }
    server.iterationEnded = nil
    DispatchQueue.main.asyncAfter(deadline: .now() + .seconds(Self.statusIntervalSeconds)) { [weak self] in
      MainActor.assumeIsolated { self?.updateStatus() }
    }
  }

  private func updateStatus() {
    server.iterationEnded = { [weak self] in self?.followStatus() }
    notifiedChangeCount = server.lister.changeCount
    guard !isStopping, server.lister.status != lastStatus else { return }
    lastStatus = server.lister.status
    notifier.status(lastStatus)
  }

  private func reload() {
    // After a stop, the main queue still runs its remaining work. A late reload must not change the
    // configuration after the hand-over.
    guard !isStopping else { return }
    guard !isReloading else {
      mustReloadAgain = true
      return
    }
    isReloading = true
    notifier.reloading()
    // Looking up users and groups can take long, so another thread loads the configuration.
    DispatchQueue.global().async { [arguments] in
      let (loaded, diagnostics) = ConfigurationFiles.reload(arguments.configurationDirectory) {
        Self.loadConfiguration(arguments)
      }
      DispatchQueue.main.async { [weak self] in
        MainActor.assumeIsolated { self?.finishReload(loaded, diagnostics) }
      }
    }
  }

  private func finishReload(_ loaded: Configuration, _ diagnostics: [Diagnostic]) {
    isReloading = false
    guard !isStopping else { return }
    if mustReloadAgain {
      mustReloadAgain = false
      return reload()
    }
    Self.write(diagnostics, to: log)
    if diagnostics.contains(where: { $0.severity == .error }) {
      log.error("the configuration has errors; the old one stays in force")
    } else {
      socketMode = loaded.socketMode
      bus.reconfigure(loaded)
      log.info("the configuration was read again")
    }
    notifyReady()
  }

  private func stop(isForGood: Bool = false) {
    guard !isStopping else { return }
    isStopping = true
    if !isForGood, bus.canHandOver {
      notifier.stopping(status: "Handing over \(server.sessions.count.counted("connection"))")
      bus.handOver()
      return
    }
    log.info("stopping")
    notifier.stopping(status: "Stopping with \(server.sessions.count.counted("connection"))")
    server.stop(graceNanoseconds: Self.stopGraceNanoseconds)
  }
}
