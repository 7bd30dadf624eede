// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneSystem
import TribuneWire

/// The values of the global options, and the functions with which a verb connects and writes output.
struct Context: Sendable {
  enum Output: Sendable {
    case table
    case json(isPretty: Bool)
    case yaml
    case template(Template)

    /// True for a format that programs read.
    var writesValues: Bool { if case .table = self { false } else { true } }
  }

  var terminal: Terminal
  let signals: SignalWatch
  private let output: Output
  private let arrangement: Table.Arrangement
  let showsLegend: Bool
  let isQuiet: Bool
  let timeout: Duration
  /// How long to look for a lost bus; nil without a limit.
  var reconnectTimeout: Duration?
  /// How long to wait for a bus at the start; nil without a limit.
  private let busWait: Duration?
  let address: Result<Address, TribuneError>
  /// True if the commands that this process starts need `$TRIBUNE_ADDRESS` to find the same bus: an option
  /// gave the address, or the address has a relative path.
  let passesAddress: Bool

  init(_ invocation: Invocation, terminal: Terminal, signals: SignalWatch) throws(CommandError) {
    self.terminal = terminal
    self.signals = signals
    showsLegend = !invocation.has(.noLegend)
    isQuiet = invocation.has(.quiet)
    // For `delegate`, --timeout is the time for an answer, not for a reply of the bus.
    let span = invocation.verb == .delegate ? nil : invocation.span(.timeout)
    timeout = min(span?.duration ?? .seconds(30), .seconds(365 * 86_400))
    reconnectTimeout = invocation.has(.reconnect) ? invocation.span(.reconnect)?.duration : .seconds(10)
    busWait = invocation.has(.waitForBus) ? invocation.span(.waitForBus)?.duration : .zero
    output = try Output(invocation, isTerminal: terminal.isTerminal)
    arrangement = try Table.Arrangement(invocation, for: output)
    address = try Self.address(invocation)
    passesAddress =
      [.address, .system, .user].contains(where: invocation.has) || Self.isRelative(address)
  }

  private static func isRelative(_ address: Result<Address, TribuneError>) -> Bool {
    guard case .success(let address) = address else { return false }
    return !["/", "@"].contains { address.path.hasPrefix($0) }
  }

  private static func address(
    _ invocation: Invocation
  ) throws(CommandError) -> Result<Address, TribuneError> {
    guard [.address, .system, .user].count(where: invocation.has) <= 1 else {
      throw .usage("--address, --system and --user cannot be combined")
    }
    if invocation.has(.system) { return .success(.system) }
    if invocation.has(.user) {
      guard let address = Address.user else { throw .usage("--user needs $XDG_RUNTIME_DIR") }
      return .success(address)
    }
    guard let text = invocation.text(.address) else {
      return Result { () throws(TribuneError) in try Address.resolve() }
    }
    do throws(TribuneError) {
      return .success(try Address(text))
    } catch {
      throw .usage("--address: \(error.message.terminalSafe)")
    }
  }

  var addressVariables: [(name: String, value: String)] {
    guard case .success(let address) = address else { return [] }
    do throws(TribuneError) {
      // The path must be absolute, because the command may run in another folder.
      return [("TRIBUNE_ADDRESS", try Address("unix:\(Folder.absolute(address.path))").description)]
    } catch {
      // The absolute path is too long for an address, so the command gets the relative path.
      return [("TRIBUNE_ADDRESS", address.description)]
    }
  }

  /// The reason why one of these patterns is never asked on this bus; nil if there is no such pattern.
  func lackOfAskers(of patterns: [String]) -> String? {
    guard case .success(let address) = address, address == .user,
      let pattern = patterns.first(where: WellKnownQuestions.areOnlyAskedOnSystemBus)
    else { return nil }
    return "\(pattern) is asked on the system's bus, and this is a user's, \(address)".terminalSafe
  }

  func requireAskers(of patterns: [String]) throws(CommandError) {
    if let lack = lackOfAskers(of: patterns) { throw .usage("\(lack): add --system") }
  }

  var writesValues: Bool { output.writesValues }

  var writesCompactJSON: Bool { if case .json(isPretty: false) = output { true } else { false } }

  var usesTemplate: Bool { if case .template = output { true } else { false } }

  var showsWaiting: Bool { terminal.errorTakesControls && !isQuiet && !writesValues }

  func print(_ line: String) throws(CommandError) { try write(line + "\n") }

  func print(_ value: JSONValue) throws(CommandError) { try write(text(of: value)) }

  func text(of value: JSONValue) -> String {
    switch output {
    case .table, .json(isPretty: false): value.compact + "\n"
    case .json(isPretty: true): value.pretty + "\n"
    case .yaml: "---\n\(value.yaml)\n"
    case .template(let template): template.line(of: value) + "\n"
    }
  }

  func write(_ text: @autoclosure () -> String, or value: @autoclosure () -> JSONValue) throws(CommandError) {
    try write(self.text(text(), or: value()))
  }

  func text(_ text: @autoclosure () -> String, or value: @autoclosure () -> JSONValue) -> String {
    !writesValues ? text() : self.text(of: value())
  }

  func list(
    _ values: [JSONValue], text: @autoclosure () throws(CommandError) -> String, legend: String
  ) throws(CommandError) {
    guard !writesValues else {
      for value in values { try print(value) }
      return
    }
    let shown = try text()
    try write(shown)
    if showsLegend { try print((shown.isEmpty ? "" : "\n") + legend) }
  }

  func text(of table: Table) throws(CommandError) -> String {
    try table.arranged(by: arrangement).text(
      hasHeader: showsLegend, isColoured: terminal.isColoured, limit: terminal.columns)
  }

  /// Writes without a buffer, so the reader of a pipe gets the text at once.
  func write(_ text: String) throws(CommandError) { try write(bytes: Array(text.utf8)) }

  func write(bytes: [UInt8]) throws(CommandError) {
    do {
      try StandardOutput.write(bytes)
    } catch {
      if error == .brokenPipe { throw .ended(ExitStatus.success) }
      throw .failure("standard output: \(error)")
    }
  }

  /// Calls `write`, but not with --quiet. A failed write is reported and not thrown, because the exit status
  /// must depend only on the verdict.
  func show(_ write: () throws(CommandError) -> Void) {
    guard !isQuiet else { return }
    do throws(CommandError) {
      try write()
    } catch {
      if !error.message.isEmpty { terminal.report(error.message) }
    }
  }

  func styled(_ text: String, _ style: Style) -> String {
    style.apply(to: text, isColoured: terminal.isColoured)
  }

  func line(_ parts: [(text: String, style: Style)]) -> String {
    var left = terminal.columns ?? .max
    var line = ""
    for (text, style) in parts where left > 0 {
      let cut = text.cut(toColumns: left)
      line += styled(cut, style)
      left = cut == text ? left - cut.columnCount : 0
    }
    return line
  }

  /// Reports on standard error, and to the service manager, that the verb is ready.
  func reportReady(_ line: String, usesBus: Bool = true) {
    signals.begin()
    if !isQuiet {
      // The line names the bus, because registrations on a user's bus have no effect on the system's bus.
      let bus = if usesBus, case .success(let address) = address { ", on \(address)" } else { "" }
      terminal.reportLine(line + bus.terminalSafe)
    }
    notifyManager()
  }

  func notifyManager() {
    do {
      try ServiceNotification.send("READY=1")
    } catch {
      terminal.report("the service manager could not be notified: \(error)")
    }
  }

  /// Runs `work`, a verb's first request. Without a bus, repeats `work` for as long as --wait-for-bus says.
  ///
  /// - Parameter asks: true to give holders and delegates time to come back after a wait for the bus.
  func waitingForBus<Answer>(
    toAsk asks: Bool = false, _ work: () async throws(TribuneError) -> Answer
  ) async throws(TribuneError) -> Answer {
    let end = busWait.map { ContinuousClock.now.advanced(by: $0) }
    var isSaid = isQuiet
    var hasWaited = false
    let answer = try await tryUntilDone(work) { error in
      guard error.meansNoBus, end.map({ $0 > .now }) ?? true else { return false }
      if !isSaid { terminal.report("\(error.message.terminalSafe); waiting for a bus") }
      isSaid = true
      hasWaited = true
      return true
    }
    if asks, hasWaited { await sleep(BusPresence.settling) }
    return answer
  }

  func connect(
    within limit: Duration? = nil, identifyingPosters identifiesPosters: Bool = false,
    pace: Tribune.Pace = .setting,
    events: (@Sendable (ConnectionEvent) -> Void)? = nil
  ) async throws(TribuneError) -> Connection {
    let (address, limit, reconnectTimeout) = (try address.get(), limit ?? timeout, reconnectTimeout)
    return try await bounded(by: limit) { () async throws(TribuneError) -> Connection in
      // `bounded` must time out before the library, because the error of `bounded` names the time span.
      try await Connection.connect(
        to: address, within: limit + .seconds(1), reconnectingFor: reconnectTimeout,
        identifyingPosters: identifiesPosters, pace: pace, events: events)
    }
  }

  /// The longest userInfo of this bus, in bytes. Without a bus, the highest limit that any bus can have.
  func payloadMax() async -> Int {
    do throws(TribuneError) {
      let connection = try await connect(within: min(timeout, .seconds(5)))
      await connection.close()
      return connection.bus.payloadMax
    } catch {
      return WireLimits.payloadLengthCeiling
    }
  }

  /// Connects for a verb that continues after a restart of the bus, and reports each reconnection.
  ///
  /// - Parameter thing: a singular noun for the messages that may be missed.
  func connectToStay(
    missing thing: String, identifyingPosters identifiesPosters: Bool = false
  ) async throws(TribuneError) -> Connection {
    try await connectToStay(identifyingPosters: identifiesPosters) { lost in
      switch lost {
      case 0?: ""
      case let lost?: "; \(lost.counted("\(thing) was", "\(thing)s were")) missed"
      case nil: "; the number of missed \(thing)s is unknown"
      }
    }
  }

  /// Connects, and reports reconnections. If `reconnectTimeout` is nil, also reports lost connections.
  ///
  /// - Parameters:
  ///   - limit: the time in which to connect; nil for the time of --timeout.
  ///   - saysLoss: true to report, even with --quiet, a reconnection after which notifications may be
  ///     missing.
  ///   - consequence: returns the end of the report, which is empty or begins with "; ". The argument is the
  ///     number of missed notifications; nil if the bus did not know this connection.
  func connectToStay(
    within limit: Duration? = nil, updating presence: BusPresence? = nil,
    identifyingPosters identifiesPosters: Bool = false,
    sayingLoss saysLoss: Bool = false,
    saying consequence: @escaping @Sendable (_ lost: UInt64?) -> String = { _ in "" },
    onReturn: @escaping @Sendable () -> Void = {}
  ) async throws(TribuneError) -> Connection {
    let (terminal, isQuiet, looksForEver) = (terminal, isQuiet, reconnectTimeout == nil)
    return try await connect(
      within: limit, identifyingPosters: identifiesPosters,
      events: { event in
        presence?.update(for: event)
        switch event {
        case .disconnected(let error):
          if looksForEver { terminal.report("\(error.message.terminalSafe); looking for the bus") }
        case .reconnected(let lost):
          if !isQuiet || looksForEver || saysLoss && lost != 0 {
            terminal.report("reconnected to the bus" + consequence(lost))
          }
          onReturn()
        }
      })
  }

  func request<Answer: Sendable>(
    _ work: @escaping @Sendable (Connection) async throws(TribuneError) -> Answer
  ) async throws(CommandError) -> Answer {
    do {
      return try await bounded(by: timeout) { [self] () async throws(TribuneError) -> Answer in
        try await work(try await connect())
      }
    } catch {
      throw CommandError(error)
    }
  }
}

extension Context.Output {
  init(_ invocation: Invocation, isTerminal: Bool) throws(CommandError) {
    switch (invocation.text(.output), invocation.text(.json)) {
    case (_?, _?): throw .usage("--output and --json cannot be combined")
    case (nil, "short"): self = .json(isPretty: false)
    case (nil, "pretty"): self = .json(isPretty: true)
    case ("json", nil): self = .json(isPretty: isTerminal)
    case ("yaml", nil): self = .yaml
    case ("table", nil): self = .table
    case (let text?, nil):
      guard text.contains("{") else {
        throw .usage(
          "--output is table, json, yaml, or a text with {FIELD}, not \"\(text.terminalSafe)\""
            + Spelling.hint(for: text, among: ["table", "json", "yaml"]) { $0 })
      }
      self = .template(try Template(text, of: .output))
    case (nil, _): self = invocation.has(.shortJSON) ? .json(isPretty: isTerminal) : .table
    }
  }
}
