// SPDX-License-Identifier: Apache-2.0

import TribuneHTTP
package import TribuneService
import TribuneSystem

package final class WebProgram: ServiceProgram {
  package static let name = "tribune-web"
  package static let options: Set = ["--page", "--listen"]
  package static let needsFaultlessSettings = true

  /// All changes within this delay wake the pages together, once.
  private static let wakeDelay = Duration.milliseconds(50)

  private let settings: WebSettings
  private let site: WebSite
  private var listeners: [HTTPListener] = []
  private var wakeUp: Task<Void, Never>?
  private lazy var follower = BusFollower(
    settings, isWatched: { [unowned self] in listeners.contains { $0.streamCount > 0 } },
    changed: { [unowned self] in scheduleWakeUp() })

  package static func load(from directory: String?) -> (WebSettings, [Diagnostic]) {
    var reader = WebSettingsReader()
    reader.readAll(in: directory)
    return reader.finish()
  }

  package init(_ settings: WebSettings, _ arguments: ServiceArguments) throws {
    try ThisProcess.raiseDescriptorLimit()
    self.settings = settings
    let page = try arguments["--page"].map { try PageFiles(in: $0) } ?? PageFiles(besideProgram: ())
    site = WebSite(page, settings)
    try listen(at: arguments["--listen"])
  }

  private func listen(at address: String?) throws {
    var passed = try PassedToService.take()
    if let address {
      do throws(Errno) {
        passed.append((try InternetSocket.listening(at: address).release(), address))
      } catch {
        throw HTTPListener.Unservable(description: "--listen=\(address): \(error)")
      }
    }
    guard !passed.isEmpty else {
      throw HTTPListener.Unservable(
        description: "no socket was passed; \"systemctl start tribune-web.socket\" passes one, and "
          + "--listen=127.0.0.1:9790 opens one")
    }
    let limits = HTTPListener.Limits(connections: settings.connectionsMax, streams: settings.pagesMax)
    for (descriptor, name) in passed {
      listeners.append(
        try HTTPListener.serving(descriptor, named: name, settings.access, from: "web.conf", limits) {
          [unowned self] in answer($0)
        })
    }
  }

  package func start() async {
    let (looks, looked) = AsyncStream<Void>.makeStream()
    Task { await follower.run { looked.finish() } }
    for await _ in looks {}
  }

  private func answer(_ request: HTTPRequest) -> HTTPAnswer {
    switch site.resource(for: request) {
    case .failure(let refusal): return .response(refusal)
    case .success(.file(let file)): return .response(file)
    case .success(.events):
      follower.markLookedAt()
      var cursor = Feed.Cursor()
      return .events { [unowned self] in follower.feed.next(&cursor) }
    case .success(.health):
      let absence = follower.picture.absence
      return .response(HTTPResponse(absence == nil ? 200 : 503, absence ?? "ok"))
    case .success(.metrics(let format)):
      return .body { [unowned self] _ in
        await follower.look()
        var own = follower.own
        own.pages = listeners.reduce(0) { $0 + $1.streamCount }
        return HTTPResponse(
          type: format.contentType, BusMetrics.text(of: follower.picture, follower.counters, own, format))
      }
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

  package static let help = """
    Usage: tribune-web [OPTION]...

    Shows the Tribune bus as a web page, and its counters to Prometheus. Serves the
    sockets that systemd passes, and the address of --listen.

      --config=DIR     Read web.conf and its drop-ins in DIR (default: /etc/tribune)
      --listen=ADDRESS:PORT
                       Listen there, or on a PORT of 127.0.0.1
      --page=DIR       Serve the page's files from DIR (default: the files installed
                       or built with it)
      --check-config   Report problems of the configuration, and exit
      --help, -h       Show this help
      --version        Show the version

    To use another bus than the system's, set $TRIBUNE_ADDRESS. To see your own, run
    tribune-web --listen=9790, and open http://127.0.0.1:9790/.
    """
}
