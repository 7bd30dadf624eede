// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneSystem
import TribuneWire

/// What every verb is given besides its own operands: the global options, and where to write.
struct Context: Sendable {
  enum JSON: Equatable, Sendable {
    case off, short, pretty
  }

  let terminal: Terminal
  /// The verb's signals, as they come.
  let signals: SignalWatch
  let json: JSON
  let showsLegend: Bool
  let isQuiet: Bool
  /// How long the bus is waited for.
  let timeout: Duration
  /// How long a bus is looked for that is gone.
  let patience: Duration
  /// As it was given; nil for what the library finds.
  let address: Address?

  init(_ invocation: Invocation, terminal: Terminal, signals: SignalWatch) throws(CommandError) {
    self.terminal = terminal
    self.signals = signals
    showsLegend = !invocation.has(.noLegend)
    isQuiet = invocation.has(.quiet)
    // A delegate's is the time for an answer, and says nothing of the bus.
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

  /// Somebody looks on while a query is under way.
  var showsWaiting: Bool { terminal.errorTakesControls && !isQuiet && json == .off }

  /// Writes one line to the standard output.
  func print(_ line: String) throws(CommandError) {
    try write(line + "\n")
  }

  /// Writes one JSON value to the standard output, in the form that was asked for.
  func print(_ value: JSONValue) throws(CommandError) {
    try print(json == .pretty ? value.pretty : value.compact)
  }

  func print(_ table: Table) throws(CommandError) {
    try write(table.text(hasHeader: showsLegend, isColoured: terminal.isColoured))
  }

  func write(_ text: String) throws(CommandError) {
    try write(bytes: Array(text.utf8))
  }

  func write(bytes: [UInt8]) throws(CommandError) {
    do {
      try terminal.write(bytes: bytes)
    } catch {
      // Whoever read has had enough; that is no failure.
      if error.isClosed { throw .ended(ExitStatus.success) }
      throw .failure("standard output: \(error.errno)")
    }
  }

  func styled(_ text: String, _ style: Style) -> String {
    style.apply(to: text, isColoured: terminal.isColoured)
  }

  /// Says that what stays is in place: on the standard error for people and scripts, and to the service
  /// manager where there is one.
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
  /// - Parameter limit: how long it is waited for; nil is what was said for all.
  func connect(within limit: Duration? = nil) async throws(TribuneError) -> Connection {
    let (address, limit, patience) = (address, limit ?? timeout, patience)
    return try await bounded(by: limit) { () async throws(TribuneError) -> Connection in
      try await Connection.connect(to: address, within: .notBefore(limit), reconnectingFor: patience)
    }
  }

  /// Connects for a verb that goes on when the bus was restarted, and has it say so then.
  ///
  /// - Parameter thing: what it can have missed some of meanwhile.
  func connectToStay(missing thing: String) async throws(TribuneError) -> Connection {
    try await connectToStay { lost in
      switch lost {
      case 0?: ""
      case let lost?: "; \(lost.counted("\(thing) was", "\(thing)s were")) missed"
      case nil: "; nobody knows how many \(thing)s were missed"
      }
    }
  }

  /// Connects for a verb that goes on when the bus was restarted, and has it say so then.
  ///
  /// - Parameters:
  ///   - presence: where it is noted whether the bus is there.
  ///   - saysLoss: whether it is said also when only what is wrong is to be said, unless nothing was missed.
  ///   - consequence: what that means for it, if something, behind "; ". It is given how many notifications were
  ///     missed meanwhile, or nil when the bus that is there knew nothing of this connection.
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

  /// Connects, and asks for something that takes no longer than the bus takes to answer.
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
  /// A limit that is not reached before the command's own, which says how long it was.
  fileprivate static func notBefore(_ limit: Duration) -> Duration { limit + .seconds(1) }
}
