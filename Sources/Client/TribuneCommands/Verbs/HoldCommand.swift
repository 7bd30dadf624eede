// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem
import TribuneWire

struct HoldCommand: Command {
  var signals: [Int32] { SignalWatch.relayed }

  /// A question or a pattern of questions, and its object. An empty object matches all objects.
  struct Target: Sendable {
    var pattern: String
    var object = ""

    init(_ text: String) throws(CommandError) {
      let at = text.firstIndex(of: "@") ?? text.endIndex
      pattern = String(text[..<at])
      guard at < text.endIndex else { return }
      object = try Invocation.oneObject(String(text[text.index(after: at)...]), of: "NAME@OBJECT: ")
      guard !object.isEmpty else { throw .usage("\"\(text.terminalSafe)\" lacks an object after @") }
    }

    func meets(_ action: ActionInfo) -> Bool {
      do throws(WireError) {
        return try Pattern(pattern).matches(action.name.utf8Bytes)
          && (object.isEmpty || action.object.isEmpty || ExactText(object) == ExactText(action.object))
      } catch {
        return false
      }
    }

    var description: String { object.isEmpty ? pattern : "\(pattern)@\(object)" }
  }

  let targets: [Target]
  private let reason: HoldReason
  private let label: String
  private let span: Duration?
  private let spanText: String
  let command: [[UInt8]]
  /// The process of `--pid=`. When that process ends, the holds end.
  private let process: WatchedProcess?
  private let runsAnyway: Bool
  let lateness: Lateness
  /// Tracks whether the connection that has the holds reaches a bus.
  let presence = BusPresence()

  init(_ invocation: Invocation) throws(CommandError) {
    targets = try Self.targets(invocation)
    guard let why = invocation.text(.why), !invocation.isBlank(.why) else {
      throw .usage("hold needs --why=REASON")
    }
    guard why.utf8.count <= WireLimits.reasonLength else {
      throw .usage("--why must have at most \(WireLimits.reasonLength) bytes")
    }
    reason = HoldReason(why, from: try Self.source(of: invocation))
    span = invocation.span(.expires)?.duration
    spanText = invocation.span(.expires)?.text ?? ""
    if let span, span <= .zero { throw .usage("--expires must be more than 0") }
    command = invocation.command
    process = try invocation.number(.pid).map { (pid) throws(CommandError) in try Self.watch(pid) }
    guard process == nil || command.isEmpty else { throw .usage("--pid and a command cannot be combined") }
    guard !invocation.has(.ifUnreachable) || !command.isEmpty else {
      throw .usage("--if-unreachable needs a command after --")
    }
    runsAnyway = invocation.text(.ifUnreachable) == "run"
    label = try Self.label(invocation)
    lateness = try Lateness(invocation)
  }

  private static func source(of invocation: Invocation) throws(CommandError) -> HoldReason.Source? {
    guard let file = invocation.text(.whyFrom) else { return nil }
    guard file == "-" else {
      do throws(Errno) {
        return .file(try PipeInput(file))
      } catch {
        throw CommandError(
          message: "\(file.terminalSafe): \(error)",
          status: invocation.command.isEmpty ? ExitStatus.failure : ExitStatus.noVerdict)
      }
    }
    guard invocation.command.isEmpty else {
      throw .usage("--why-from=- is the command's standard input: name a pipe made by mkfifo")
    }
    return .standardInput
  }

  private static func watch(_ pid: Int64) throws(CommandError) -> WatchedProcess {
    do throws(Errno) {
      return try WatchedProcess(Int32(clamping: pid))
    } catch {
      throw .failure("process \(pid): \(error)")
    }
  }

  /// The label in verdicts. Without --label, the name of the command or caller says more than "tribunectl".
  private static func label(_ invocation: Invocation) throws(CommandError) -> String {
    if let label = try invocation.label() { return label }
    return invocation.commandName(
      orOf: invocation.number(.pid).map { Int32(clamping: $0) } ?? ThisProcess.parent)
  }

  private static func targets(_ invocation: Invocation) throws(CommandError) -> [Target] {
    var targets: [Target] = []
    for text in invocation.operands {
      let target = try Target(text)
      _ = try Invocation.checkedPattern(target.pattern)
      try ActionNames.requireQuestion(target.pattern, offeringAction: true)
      targets.append(target)
    }
    for text in invocation.words(.action) {
      var target = try Target(text)
      target.pattern = try ActionNames(try Invocation.checkedName(target.pattern)).should
      targets.append(target)
    }
    guard !targets.isEmpty else { throw .usage("hold needs a NAME, or --action=ACTION") }
    let object = try invocation.object()
    guard !object.isEmpty || !invocation.has(.object) else {
      throw .usage("--object is empty: leave it out to hold for every object")
    }
    if !object.isEmpty {
      guard targets.count == 1, targets[0].object.isEmpty else {
        throw .usage("--object is for one NAME: otherwise, write NAME@OBJECT for each")
      }
      targets[0].object = object
    }
    for target in targets { try Invocation.requireForm(of: target.object, for: target.pattern) }
    return targets
  }

  /// True if this process must take the holds again after each loss.
  private var isReliedOn: Bool { !command.isEmpty || process != nil }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    var context = context
    context.terminal = context.terminal.unblocked()
    defer { context.terminal.flush() }
    if isReliedOn { context.reconnectTimeout = nil }
    try context.requireAskers(of: targets.map(\.pattern))
    return try await hold(in: context)
  }

  private func hold(in context: Context) async throws(CommandError) -> Int32 {
    let (standing, router) = (HoldStanding(), SignalRouter.routing(context.signals))
    let attempt = await first(
      of: { () async -> Result<Held, TribuneError>? in await start(standing, in: context) },
      { () async -> Result<Held, TribuneError>? in
        _ = await router.interruption.value
        return nil
      })
    guard let attempt, var taken = attempt else { return 128 + (await router.interruption.value) }
    var inherited: Tribune.Hold?
    switch taken {
    case .success(let held):
      inherited = held.holds.last
      // The holds may have expired while `start` gave other clients time to return.
      if standing.isOver { throw await release(held, because: "the hold has expired") }
      let end = term(standing)
      let ids = held.holds.map { "hold \($0.id)" }.joined(separator: ", ")
      context.reportReady("holding \(names) (\(objects)\(ids)\(end))")
      for line in held.news { context.terminal.reportLine(line.terminalSafe) }
      reportLimits(of: held, in: context)
      if command.isEmpty {
        reportLateness(of: held, in: context)
      } else {
        guard let settled = try await settle(held, standing, router, in: context) else {
          return 128 + (await router.interruption.value)
        }
        if settled.connection !== held.connection { inherited = nil }
        taken = .success(settled)
      }
    case .failure(let error):
      guard runsAnyway else { throw commandError(error) }
      context.terminal.report(
        "\(error.message.terminalSafe); the command runs without the hold, as --if-unreachable says")
      context.notifyManager()
      standing.begin(targets.count, for: span)
    }
    let following = Task { [reason] in await reason.follow(in: context) }
    defer { following.cancel() }
    let initial = taken
    let keeping = Task { () async -> End in await keep(initial, standing, in: context) }
    guard !command.isEmpty else { return try await stay(keeping, until: router.interruption, in: context) }
    // This process's messages must come before those that the command writes on standard error.
    context.terminal.flush()
    let socket = inherited
    let termination = await router.run(
      command, inheriting: { () throws(Errno) in try socket?.duplicateSocket() }, in: context)
    keeping.cancel()
    // This wait lets `keeping` release the holds before this process ends.
    _ = await keeping.value
    return termination.shellStatus
  }

  /// A text about the time until the holds expire, as the user wrote this time. If `start` has given other
  /// clients 5 s to return, in which the holds were already in force, the text has the remaining time.
  private func term(_ standing: HoldStanding) -> String {
    guard let span, let left = standing.left, !targets.indices.contains(where: standing.isShortened) else {
      return ""
    }
    return ", for \(span - left < .seconds(1) ? spanText.terminalSafe : left.formatted)"
  }

  private func commandError(_ error: TribuneError) -> CommandError {
    guard !command.isEmpty else { return CommandError(error) }
    var failure = CommandError(error, status: ExitStatus.noVerdict)
    failure.message += "\nNothing was run. With --if-unreachable=run, the command runs without the hold"
    failure.message += error.meansNoBus ? "; with --wait-for-bus=SPAN, it waits for a bus." : "."
    return failure
  }

  private var names: String {
    targets.map { isAboutOneObject ? $0.pattern : $0.description }.joined(separator: " ").terminalSafe
  }

  private var objects: String { isAboutOneObject ? "\(objectText(targets[0].object)), " : "" }

  private var isAboutOneObject: Bool { targets.allSatisfy { $0.object == targets[0].object } }

  // MARK: Taking

  struct Held: Sendable {
    var holds: [Tribune.Hold]
    var connection: Connection
    /// Those that the bus ends earlier than wanted.
    var shortened: [(target: Target, hold: Tribune.Hold)] = []
    var news: [String] = []

    var isLate: Bool { holds.contains { $0.late > 0 } }
  }

  private func start(_ standing: HoldStanding, in context: Context) async -> Result<Held, TribuneError> {
    do throws(TribuneError) {
      var held = try await context.waitingForBus(toAsk: !command.isEmpty) {
        () async throws(TribuneError) -> Held in
        // If the command inherits the connection, the last hold is marked as the connection's last frame
        // (`isLast`): at any further frame, the bus ends the connection. With --why-from, the command does
        // not inherit the connection, because this process must still send new reasons.
        try await take(
          isFirst: true, isInherited: !command.isEmpty && reason.source == nil, standing, in: context)
      }
      guard let news = await hostEffects(of: held, in: context) else {
        await held.connection.close()
        return .failure(TribuneError(.refused, "the hold is too late: the host is already about to do that"))
      }
      held.news = news
      return .success(held)
    } catch {
      return .failure(error)
    }
  }

  /// Waits until logind knows of the holds that concern the host. Returns warnings and, on a terminal, the
  /// effects of the holds. Returns nil if tribune-logind reports that a hold came too late.
  private func hostEffects(of held: Held, in context: Context) async -> [String]? {
    var news: [String] = []
    // A connection that the command inherits cannot send requests.
    var asking = command.isEmpty ? held.connection : nil
    for target in targets where HostEnforcement.concerns(target.pattern) {
      do throws(TribuneError) {
        let connection = if let asking { asking } else { try await context.connect() }
        asking = connection
        let state = try await HostEnforcement.ask(about: target.pattern, after: .hold, over: connection)
        guard let state else {
          if case .success(.system) = context.address {
            news.append("logind does not know of the hold: tribune-logind does not answer")
          }
          continue
        }
        if state.isTooLate { return nil }
        if context.showsWaiting || !state.isInForce, !news.contains(state.says) { news.append(state.says) }
      } catch {
        news.append("logind may not know of the hold yet: \(error.message)")
      }
    }
    return news
  }

  /// Takes the holds that have not expired.
  private func take(
    isFirst: Bool, isInherited: Bool, _ standing: HoldStanding, in context: Context
  ) async throws(TribuneError) -> Held {
    let connection = try await context.connectToStay(
      updating: presence, saying: { lost in standing.consequence(losing: lost) })
    return try await bounded(by: context.timeout) {
      [self, connection] () async throws(TribuneError) -> Held in
      let why = reason.text
      if isFirst { standing.begin(targets.count, for: span) }
      var held = Held(holds: [], connection: connection)
      for (index, target) in targets.enumerated() {
        let left = standing.left(of: index)
        if !isFirst, let left, left <= .zero { continue }
        let hold = try await connection.hold(
          target.pattern, object: target.object, why: why, label: label,
          expiresIn: isFirst ? span : left,
          isLast: isInherited && index == targets.count - 1)
        if hold.isShortened { standing.shorten(index, to: hold.expiresIn) }
        held.holds.append(hold)
        if standing.isShortened(index) { held.shortened.append((target, hold)) }
      }
      try await reason.apply(to: held.holds, takenFor: why)
      return held
    }
  }

  /// Reports the holds that the bus has shortened, now and before their end. Returns at once.
  private func reportLimits(of held: Held, in context: Context) {
    for (target, hold) in held.shortened {
      guard let left = hold.expiresIn else { continue }
      // Not some microseconds less than the limit.
      let span = Duration.seconds((left.wholeMicroseconds + 500_000) / 1_000_000)
      let name = target.description.terminalSafe
      let end = LocalTime(
        microsecondsSince1970: SystemClock.wallMicroseconds + UInt64(left.wholeMicroseconds))
      context.terminal.report(
        """
        held until \(end.map { "\($0.date) \($0.timeOfDay)" } ?? "?") (\(span.formatted)): the bus \
        allows no longer hold of \(name)
        """)
      Task {
        let notice = min(span / 10, .seconds(300))
        let hasEnded = await first(
          of: { () async -> Bool? in
            await sleep(left - notice)
            return false
          },
          { () async -> Bool? in
            _ = await hold.expired()
            return true
          })
        guard hasEnded == false else { return }
        context.terminal.report("the hold of \(name) ends in \(notice.formatted)")
        guard held.holds.count > 1, await hold.expired() else { return }
        context.terminal.report("the hold of \(name) has expired")
      }
    }
  }

  /// - Parameter isFirst: true if the holds have never been in force.
  /// - Returns: nil after expiry or cancellation.
  func takeLater(
    because reason: String, isFirst: Bool, _ standing: HoldStanding, in context: Context
  ) async -> Held? {
    var reason = reason
    do throws(TribuneError) {
      let held = try await tryUntilDone { () async throws(TribuneError) -> Held in
        try await take(isFirst: false, isInherited: false, standing, in: context)
      } while: { error in
        if !error.meansNoBus, !reason.hasSuffix(error.message) {
          reason = error.message
          context.terminal.report("the hold cannot be taken: \(reason.terminalSafe)")
        }
        return !standing.isOver
      }
      context.terminal.report("the hold is in force\(isFirst ? "" : " again, but was interrupted")")
      reportLimits(of: held, in: context)
      if held.isLate { await report(held, as: "the hold is too late for", in: context) }
      return held
    } catch {
      return nil
    }
  }

  // MARK: Keeping

  private enum End: Sendable {
    case expired, cancelled, processEnded
    case lost(TribuneError?)
  }

  /// Keeps the holds until expiry or cancellation. If the holds are lost, takes them again if `isReliedOn` is
  /// true, else returns.
  private func keep(
    _ start: Result<Held, TribuneError>, _ standing: HoldStanding, in context: Context
  ) async -> End {
    var held: Held?
    var reason = ""
    switch start {
    case .success(let taken): held = taken
    case .failure(let error): reason = error.message
    }
    var isFirst = held == nil
    while true {
      if held == nil {
        held = await takeLater(because: reason, isFirst: isFirst, standing, in: context)
      }
      guard let current = held else { break }
      isFirst = false
      let hasExpired = await expired(current.holds)
      if hasExpired || Task.isCancelled {
        await current.connection.close()
        break
      }
      let error = await current.connection.closed()
      guard isReliedOn, !Task.isCancelled else { return .lost(error) }
      reason = error?.message ?? "the connection was closed"
      let what =
        targets.count == 1
        ? "the hold has ended, and is taken again when it can be"
        : "all \(targets.count) holds have ended, and are taken again when all can be"
      context.terminal.report("\(what): \(reason.terminalSafe)")
      held = nil
    }
    if Task.isCancelled { return .cancelled }
    if !command.isEmpty {
      context.terminal.report("the hold has expired; the command continues without it")
    }
    return .expired
  }

  private func expired(_ holds: [Tribune.Hold]) async -> Bool {
    for hold in holds where await !hold.expired() { return false }
    return true
  }

  // MARK: Without a command

  private func stay(
    _ keeping: Task<End, Never>, until interruption: Task<Int32, Never>, in context: Context
  ) async throws(CommandError) -> Int32 {
    let end = await first(
      of: { () async -> End in
        if let process {
          await process.ended()
          return .processEnded
        }
        _ = await interruption.value
        return .cancelled
      },
      { () async -> End in
        _ = await interruption.value
        return .cancelled
      },
      { () async -> End in await keeping.value })
    keeping.cancel()
    _ = await keeping.value
    switch end {
    case .lost(let error?): throw CommandError(error)
    case .expired:
      if !context.isQuiet { context.terminal.reportLine("expired \(names)") }
    case .processEnded:
      if !context.isQuiet { context.terminal.reportLine("released \(names): the process has ended") }
    case .cancelled, .lost(nil), nil: break
    }
    return ExitStatus.success
  }
}
