// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneJSON

struct AskCommand: Command {
  private let query: Query
  private let withoutBus: VerdictWithoutBus
  private let patient: PatientQuery?

  init(_ invocation: Invocation) throws(CommandError) {
    let patience = try invocation.patience()
    // An asker that waits until the action is allowed wants to know every veto.
    let query = try Query(
      invocation, name: try invocation.question(at: 0), mode: patience == nil ? .parallel : .all)
    self.query = query
    withoutBus = VerdictWithoutBus(invocation)
    patient = patience.map {
      PatientQuery(query, $0, subject: subjectText(query.name, query.object), writesJSON: true)
    }
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    try context.requireAskers(of: [query.name])
    let connection: Connection
    do throws(TribuneError) {
      connection = try await context.waitingForBus(toAsk: true) {
        () async throws(TribuneError) -> Connection in
        if let patient { try await patient.connect(in: context) } else { try await context.connect() }
      }
    } catch {
      return try decideWithoutBus(error, in: context)
    }
    do throws(TribuneError) {
      let verdict =
        if let patient {
          try await patient.ask(over: connection, in: context)
        } else {
          try await query.ask(over: connection, in: context)
        }
      context.show { () throws(CommandError) in
        try context.write(
          verdict.text(of: query.name, object: query.object, default: query.fallback, in: context),
          or: verdict.json)
      }
      return verdict.isAllowed ? ExitStatus.success : ExitStatus.vetoed
    } catch {
      // A delegate may have vetoed before the bus was lost, so --if-unreachable does not apply here.
      throw CommandError(error, status: ExitStatus.noVerdict)
    }
  }

  private func decideWithoutBus(_ error: TribuneError, in context: Context) throws(CommandError) -> Int32 {
    guard let decision = withoutBus.decision(after: error, in: context) else {
      throw CommandError(error, status: ExitStatus.noVerdict)
    }
    query.show(decision, in: context)
    return decision == .allowed ? ExitStatus.success : ExitStatus.vetoed
  }
}

struct VerdictWithoutBus: Sendable {
  private let decision: Verdict.Decision?

  init(_ invocation: Invocation) {
    decision =
      switch invocation.text(.ifUnreachable) {
      case "allow": .allowed
      case "veto": .vetoed
      default: nil
      }
  }

  /// The verdict of --if-unreachable; nil without this option, or if the option does not apply to the error.
  func decision(after error: TribuneError, in context: Context) -> Verdict.Decision? {
    guard let decision, error.meansNoBus else { return nil }
    context.terminal.report("\(error.message.terminalSafe); \(decision.rawValue), as --if-unreachable says")
    return decision
  }
}

struct Query: Sendable {
  var name: String
  var scope: Scope?
  var object: String
  var userInfo = UserInfo.none
  var deadline: Duration?
  var mode: Mode
  var fallback = Verdict.Decision.allowed
  var override: String?
  var isDryRun = false
  var slots: Int?
  /// True if holds that come while the query waits do not veto it.
  var claims = false
  /// If this is set, the query also begins the action, unless the query has a scope.
  var beginning: Beginning?
  /// The names of the action's notifications. The query requires the permission to post them before it asks.
  var announcements: [String] = []

  var askedName: String { scope?.name(name) ?? name }

  func show(_ decision: Verdict.Decision, in context: Context) {
    context.show { () throws(CommandError) in
      guard context.writesValues else { return }
      try context.print(
        .object([
          ("verdict", .string(decision.rawValue)), ("query", .null), ("outcomes", .array([])),
          ("outcomesOmitted", .unsigned(0)), ("unanswered", .bool(true)), ("overridden", .bool(false)),
          ("dryRun", .bool(isDryRun)), ("unreachable", .bool(true)),
        ]))
    }
  }

  func ask(
    over connection: Connection, isFirst: Bool = true, in context: Context
  ) async throws(TribuneError) -> Verdict {
    try await requirePermissions(over: connection, in: context)
    let parent = parentQuery(reportingTo: context.terminal)
    let verdict = try await whileWaited(over: connection, in: context) {
      [self] progress throws(TribuneError) -> Verdict in
      let verdict: Verdict
      if let beginning, scope == nil {
        verdict = try await beginning.begin { () async throws(TribuneError) -> (Verdict, Action?) in
          try await connection.begin(
            name, object: object, userInfo: userInfo, deadline: deadline, mode: mode, default: fallback,
            override: override, slots: slots, parent: parent, progress: progress)
        }
      } else {
        verdict = try await connection.ask(
          askedName, object: object, userInfo: userInfo, deadline: deadline, mode: mode, default: fallback,
          override: override, isDryRun: isDryRun, slots: slots, parent: parent, progress: progress)
      }
      // Only tribune-nats speaks for the cluster. If it was not asked, the cluster has not allowed the
      // action, even if a delegate with a wide pattern approved.
      if scope != nil, verdict.isAllowed || verdict.outcomes.isEmpty,
        !verdict.outcomes.contains(where: \.isOfTribuneNATS)
      {
        throw noGateway
      }
      return verdict
    }
    // After an override or the end of a hold, tribune-logind may not have lifted its lock and masks yet.
    if override != nil || !isFirst, verdict.isAllowed, !isDryRun, object.isEmpty {
      await awaitWay(verdict.isOverridden ? .override : .allowed, over: connection, in: context)
    }
    if isFirst { hint(at: verdict.similarName, in: context) }
    return verdict
  }

  /// Reports a name that is probably misspelt. A misspelt question does not reach the delegates that would
  /// veto, so its verdict allows the action.
  func hint(at similarName: String, in context: Context) {
    guard !similarName.isEmpty else { return }
    context.terminal.report("\(askedName) may be misspelt: did you mean \(similarName.terminalSafe)?")
  }

  /// Waits until logind's locks and masks no longer block the action, but at most for the query's deadline.
  private func awaitWay(
    _ event: HostEnforcement.Event, over connection: Connection, in context: Context
  ) async {
    do throws(TribuneError) {
      // The bus applies the deadline. If the bus hangs, only `bounded` ends this wait.
      let state = try await bounded(by: connection.bus.replyTimeout(for: deadline)) {
        [self] () async throws(TribuneError) -> HostEnforcement? in
        try await HostEnforcement.ask(about: askedName, after: event, within: deadline, over: connection)
      }
      var obstacles = state?.obstacles ?? []
      if state == nil, event == .override, case .success(.system) = context.address,
        HostEnforcement.concerns(askedName)
      {
        obstacles.append("tribune-logind does not answer")
      }
      for obstacle in obstacles {
        context.terminal.report("\(name) may still be refused: \(obstacle.terminalSafe)")
      }
    } catch {
      guard override != nil || error.code != .notPermitted else { return }
      context.terminal.report("\(name) may still be refused: \(error.message.terminalSafe)")
    }
  }

  var noGateway: TribuneError {
    TribuneError(.notFound, "no gateway here answers \(askedName): is tribune-nats running?")
  }

  private func requirePermissions(
    over connection: Connection, in context: Context
  ) async throws(TribuneError) {
    guard !announcements.isEmpty else { return }
    // `ask` comes first: if the client may neither ask nor post, the error is about `ask`.
    let needed = [("ask", askedName)] + announcements.map { ("post", $0) }
    try await bounded(by: context.timeout) { [self] () async throws(TribuneError) in
      // All checks are sent at once, and so need one round trip.
      let checks = needed.map { action, name in
        Task { () async -> Result<Void, TribuneError> in
          do throws(TribuneError) {
            return .success(try await connection.requirePermission(to: action, name, object: object))
          } catch {
            return .failure(error)
          }
        }
      }
      for check in checks { try await check.value.get() }
    }
  }

  /// Runs `ask`, for at most 5 s longer than the query's deadline. On a terminal, lists the delegates that
  /// the query waits for. Elsewhere, reports deferrals on standard error.
  func whileWaited<Reply: Sendable>(
    over connection: Connection, in context: Context,
    _ ask: @escaping @Sendable (@escaping @Sendable (Progress) -> Void) async throws(TribuneError) -> Reply
  ) async throws(TribuneError) -> Reply {
    let timeout = connection.bus.replyTimeout(for: deadline)
    if context.showsWaiting {
      let screen = WaitingScreen(on: context.terminal)
      return try await screen.whileWaiting { () async throws(TribuneError) -> Reply in
        try await bounded(by: timeout) { () async throws(TribuneError) -> Reply in
          try await ask { screen.take($0) }
        }
      }
    }
    let limits = Mutex(LineLimits())
    return try await bounded(by: timeout) { () async throws(TribuneError) -> Reply in
      try await ask { progress in
        guard !context.isQuiet, progress.stage == .deferred, limits.withLock({ $0.take(for: 0) }) else {
          return
        }
        context.terminal.reportLine(progress.line)
      }
    }
  }
}

extension Query {
  init(_ invocation: Invocation, name: String, mode: Mode) throws(CommandError) {
    self.init(
      name: name, scope: try invocation.scope(of: name), object: try invocation.object(of: [name]),
      userInfo: try invocation.userInfo(at: 1), deadline: try invocation.wireTimeout(),
      mode: invocation.text(.mode).flatMap { Mode(rawValue: $0) } ?? mode,
      fallback: invocation.text(.default) == "veto" ? .vetoed : .allowed,
      override: invocation.text(.override), isDryRun: invocation.has(.dryRun),
      slots: invocation.number(.slots).map { Int($0) }, claims: invocation.has(.claim))
    if scope != nil { try invocation.refuse([.slots, .claim], beside: .scope) }
    guard !invocation.isBlank(.override) else { throw .usage("--override needs a reason") }
  }
}

extension BusInfo {
  func replyTimeout(for deadline: Duration?) -> Duration {
    min(deadline ?? deadlineDefault, deadlineMax) + .seconds(5)
  }
}

extension Progress {
  fileprivate var line: String {
    let name = label.isEmpty ? (process.isEmpty ? "delegate \(delegate)" : process) : label
    return "waiting for \(name.terminalSafe) (pid \(pid)), up to \(timeout.formatted) more"
      + status.terminalSafe.afterColon
  }
}
