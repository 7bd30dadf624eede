// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TribuneHTTP
import TribuneService
import TribuneSystem
import TribuneWire

/// The process around the page: arguments, configuration, sockets, signals and the service manager.
package final class WebProgram {
  /// What comes at once goes to the pages together.
  private static let wakeDelay = Duration.milliseconds(50)

  private let settings: WebSettings
  private let site: WebSite
  private let signals = SignalSources()
  private var listeners: [HTTPListener] = []
  private var wakeUp: Task<Void, Never>?
  private lazy var follower = BusFollower(
    settings, isWatched: { [unowned self] in listeners.contains { $0.streamCount > 0 } },
    changed: { [unowned self] in scheduleWakeUp() })

  /// Runs the program; returns its exit status, or serves for as long as the process lives.
  nonisolated package static func main(_ arguments: [String]) -> Int32 {
    StandardDescriptors.fill()
    do throws(UsageError) {
      let arguments = try WebArguments(parsing: arguments)
      switch arguments.action {
      case .help: print(WebArguments.help)
      case .version: print("tribune-web \(Version.current)")
      case .checkConfiguration:
        return Diagnostic.reportAll(WebSettings.load(from: arguments.configurationDirectory).1)
      case .serve: return MainActor.assumeIsolated { run(arguments) }
      }
      return 0
    } catch {
      StandardError.writeLine("tribune-web: \(error)\nTry \"tribune-web --help\".")
      return 2
    }
  }

  private static func run(_ arguments: WebArguments) -> Int32 {
    let (settings, diagnostics) = WebSettings.load(from: arguments.configurationDirectory)
    for diagnostic in diagnostics { ServiceLog.error("\(diagnostic)") }
    // A mistake must not show to anybody what was to be kept from them.
    guard !diagnostics.contains(where: { $0.severity == .error }) else { return 1 }
    do {
      Signals.ignore(Signals.brokenPipe)
      try ThisProcess.raiseDescriptorLimit()
      let program = WebProgram(settings, try PageFiles(in: arguments.pageDirectory))
      try program.listen()
      program.start()
    } catch {
      ServiceLog.error("cannot start: \(error)")
      return 1
    }
    dispatchMain()
  }

  private init(_ settings: WebSettings, _ files: PageFiles) {
    self.settings = settings
    site = WebSite(files, settings)
  }

  /// Takes the sockets that systemd passes.
  private func listen() throws {
    let passed = try PassedToService.take()
    guard !passed.isEmpty else {
      throw HTTPListener.Unservable(
        description: "no socket was passed; \"systemctl start tribune-web.socket\" passes one")
    }
    let limits = HTTPListener.Limits(connections: settings.connectionsMax, streams: settings.pagesMax)
    for (descriptor, name) in passed {
      listeners.append(
        try HTTPListener.serving(descriptor, named: name, settings.access, from: "web.conf", limits) {
          [unowned self] in answer($0)
        })
    }
  }

  private func start() {
    for signal in [Signals.terminate, Signals.interrupt] {
      signals.on(signal) {
        ManagerNotice.send("STOPPING=1")
        ThisProcess.exit(0)
      }
    }
    var isReady = false
    Task { [self] in
      await follower.run {
        if !isReady { ManagerNotice.send("READY=1", waits: true) }
        isReady = true
      }
    }
    Task { await ManagerNotice.keepWatchdog() }
  }

  private func answer(_ request: HTTPRequest) -> HTTPAnswer {
    switch site.resource(for: request) {
    case .failure(let refusal): return .response(refusal)
    case .success(.file(let file)): return .response(file)
    case .success(.events):
      var cursor = Feed.Cursor()
      return .events { [unowned self] in follower.feed.next(&cursor) }
    case .success(.health):
      let absence = follower.picture.absence
      return .response(HTTPResponse(absence == nil ? 200 : 503, absence ?? "ok"))
    case .success(.metrics(let format)):
      var own = follower.own
      own.pages = listeners.reduce(0) { $0 + $1.streamCount }
      return .response(
        HTTPResponse(
          type: format.contentType, BusMetrics.text(of: follower.picture, follower.counters, own, format)))
    }
  }

  private func scheduleWakeUp() {
    guard wakeUp == nil else { return }
    wakeUp = Task {
      await rest(for: Self.wakeDelay)
      wakeUp = nil
      for listener in listeners { listener.wake() }
    }
  }
}
