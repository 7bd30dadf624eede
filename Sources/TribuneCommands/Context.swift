// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneSystem
import TribuneWire

/// What every verb gets besides its own operands: the global options and the output.
struct Context: Sendable {
  enum JSON: Equatable, Sendable {
    case off, short, pretty
  }

  let terminal: Terminal
  /// The verb's signals, as they arrive.
  let signals: SignalWatch
  let json: JSON
  let showsLegend: Bool
  let isQuiet: Bool
  /// How long to wait for the bus.
  let timeout: Duration
  /// How long to look for a bus that is gone.
  let patience: Duration
  /// The address from the command line; nil leaves the choice to the library.
  let address: Address?

  init(_ invocation: Invocation, terminal: Terminal, signals: SignalWatch) throws(CommandError) {
    self.terminal = terminal
    self.signals = signals
    showsLegend = !invocation.has(.noLegend)
    isQuiet = invocation.has(.quiet)
    // For a delegate, --timeout is the time for an answer and does not concern the bus.
    let span = invocation.verb == .delegate ? nil : invocation.span(.timeout)
    timeout = min(span?.duration ?? .seconds(30), .seconds(365 * 86_400))
    patience = min(invocation.span(.reconnect)?.duration ?? .seconds(10), .seconds(365 * 86_400))
    json =
      switch invocation.text(.json) {
      case "short": .short
      case "pretty": .pretty
      case "off": .off
      default: invocation.has(.shortJSON) ? (terminal.isTerminal ? .pretty : .short) : .off
      }
    do throws(TribuneError) {
      address = if let text = invocation.text(.address) { try Address(text) } else { nil }
    } catch {
      throw .usage("--address: \(error.message.terminalSafe)")
    }
  }

  /// Whether a person watches while a query runs.
  var showsWaiting: Bool { terminal.errorTakesControls && !isQuiet && json == .off }

  /// Writes one line to the standard output.
  func print(_ line: String) throws(CommandError) {
    try write(line + "\n")
  }

  /// Writes one JSON value to standard output, in the requested format.
  func print(_ value: JSONValue) throws(CommandError) {
    try print(json == .pretty ? value.pretty : value.compact)
  }

  func print(_ table: Table) throws(CommandError) {
    try write(table.text(hasHeader: showsLegend, isColoured: terminal.isColoured))
  }

  /// Writes at once, so that the reader of a pipe gets each notification as it arrives.
  func write(_ text: String) throws(CommandError) {
    try write(bytes: Array(text.utf8))
  }

  func write(bytes: [UInt8]) throws(CommandError) {
    do {
      try StandardOutput.write(bytes)
    } catch {
      // The reader has closed the pipe, which is no failure.
      if error == .brokenPipe { throw .ended(ExitStatus.success) }
      throw .failure("standard output: \(error)")
    }
  }

  func styled(_ text: String, _ style: Style) -> String {
    style.apply(to: text, isColoured: terminal.isColoured)
  }

  /// Reports that a staying verb is in place: on standard error for people and scripts, and to the service manager, if
  /// there is one.
  func reportReady(_ line: String) {
    if !isQuiet { terminal.reportLine(line) }
    do {
      try ServiceNotification.ready()
    } catch {
      terminal.report("the service manager could not be told: \(error)")
    }
  }

  /// Connects to the bus.
  ///
  /// - Parameter limit: how long to wait for it; nil means the global option.
  func connect(within limit: Duration? = nil) async throws(TribuneError) -> Connection {
    let (address, limit, patience) = (address, limit ?? timeout, patience)
    return try await bounded(by: limit) { () async throws(TribuneError) -> Connection in
      try await Connection.connect(to: address, within: .notBefore(limit), reconnectingFor: patience)
    }
  }

  /// Connects for a verb that continues after a restart of the bus, and reports each reconnection.
  ///
  /// - Parameter thing: what the verb may have missed meanwhile, as a singular noun.
  func connectToStay(missing thing: String) async throws(TribuneError) -> Connection {
    try await connectToStay { lost in
      switch lost {
      case 0?: ""
      case let lost?: "; \(lost.counted("\(thing) was", "\(thing)s were")) missed"
      case nil: "; nobody knows how many \(thing)s were missed"
      }
    }
  }

  /// Connects for a verb that continues after a restart of the bus, and reports each reconnection.
  ///
  /// - Parameters:
  ///   - presence: records whether the bus is there.
  ///   - saysLoss: reports also with --quiet, unless nothing was missed.
  ///   - consequence: text for the report, beginning with "; ", or empty. Its argument is how many notifications were
  ///     missed; nil when the bus did not know this connection.
  func connectToStay(
    noting presence: BusPresence? = nil, sayingLoss saysLoss: Bool = false,
    saying consequence: @escaping @Sendable (_ lost: UInt64?) -> String = { _ in "" }
  ) async throws(TribuneError) -> Connection {
    let (address, timeout, patience) = (address, timeout, patience)
    let (terminal, isQuiet) = (terminal, isQuiet)
    return try await bounded(by: timeout) { () async throws(TribuneError) -> Connection in
      try await Connection.connect(to: address, within: .notBefore(timeout), reconnectingFor: patience) {
        event in
        presence?.note(event)
        guard case .reconnected(let lost) = event, !isQuiet || saysLoss && lost != 0 else { return }
        terminal.report("connected to the bus again" + consequence(lost))
      }
    }
  }

  /// Connects and makes a request that takes no longer than the bus takes to answer.
  func request<Answer: Sendable>(
    _ work: @escaping @Sendable (Connection) async throws(TribuneError) -> Answer
  ) async throws(CommandError) -> Answer {
    let (address, timeout, patience) = (address, timeout, patience)
    do {
      return try await bounded(by: timeout) { () async throws(TribuneError) -> Answer in
        try await work(
          try await Connection.connect(to: address, within: .notBefore(timeout), reconnectingFor: patience))
      }
    } catch {
      throw CommandError(error)
    }
  }
}

extension Duration {
  /// A library limit that ends after the command's own limit, whose message names the span.
  fileprivate static func notBefore(_ limit: Duration) -> Duration { limit + .seconds(1) }
}
