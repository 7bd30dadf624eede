// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

struct GuardCommand: Command {
  var signals: [Int32] { SignalWatch.relayed }

  private let action: String
  /// nil for a lease, which posts nothing.
  private let names: ActionNames?
  private let query: Query
  private let beginning = Beginning()
  private let patient: PatientQuery?
  private let object: String
  private let userInfo: UserInfo
  private let withoutBus: VerdictWithoutBus
  private let waiting: Waiting?
  private let vetoStatus: Int32
  private let command: [[UInt8]]
  /// Tracks whether the connection for the query and the later posts reaches a bus.
  private let presence = BusPresence()

  init(_ invocation: Invocation) throws(CommandError) {
    action = try invocation.name(at: 0)
    let names = try ActionNames(action)
    self.names = names
    // The report of a veto lists every reason, so the query waits for all delegates by default.
    var query = try Query(invocation, name: names.should, mode: .all)
    if !query.isDryRun {
      query.announcements = [names.will, names.did, names.didFailTo]
      query.beginning = beginning
    }
    self.query = query
    (object, userInfo) = (query.object, query.userInfo)
    let subject = subjectText(action, object)
    patient = try invocation.patience().map { [query, presence] in
      PatientQuery(query, $0, subject: subject, presence: presence, writesJSON: false)
    }
    withoutBus = VerdictWithoutBus(invocation)
    waiting = try invocation.waiting()
    vetoStatus = Int32(clamping: invocation.number(.vetoExitCode) ?? Int64(ExitStatus.guardVetoed))
    command = invocation.command
  }

  /// A lease among the programs of this host: an action with slots, whose object is the lease's name.
  init(lease: String, _ invocation: Invocation) throws(CommandError) {
    (action, names, userInfo, waiting, object) = ("lease", nil, .none, nil, lease)
    query = Query(
      name: "lease.shouldRun", object: lease, mode: .all,
      slots: invocation.number(.slots).map { Int($0) } ?? 1,
      beginning: beginning)
    let span = invocation.leaseWait
    patient =
      span == .zero
      ? nil
      : PatientQuery(
        query, Patience(span: span), subject: subjectText(action, lease), presence: presence,
        writesJSON: false)
    withoutBus = VerdictWithoutBus(invocation)
    vetoStatus = ExitStatus.leaseBusy
    command = invocation.command
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    try context.requireAskers(of: [query.name])
    let router = SignalRouter.routing(context.signals)
    let asking = Task { () async -> Consent in await ask(in: context) }
    let consent = await first(
      of: { () async -> Consent in await asking.value },
      { () async -> Consent in .interrupted(await router.interruption.value) })
    let connection: Connection
    switch consent ?? .failed(CommandError(message: "interrupted", status: ExitStatus.noVerdict)) {
    case .allowed(let over, let verdict):
      connection = over
      // Standard output belongs to the command, so the report goes to standard error.
      if verdict.isOverridden, !context.isQuiet {
        report(verdict, "was vetoed (overridden)", in: context)
      }
    case .vetoed(let verdict):
      report(verdict, "was vetoed", in: context)
      context.show { () throws(CommandError) in
        if context.writesValues { try context.print(verdict.json) }
      }
      return vetoStatus
    case .dryRun(let verdict):
      context.show { () throws(CommandError) in
        try context.write(
          verdict.text(of: query.name, object: object, default: query.fallback, in: context),
          or: verdict.json)
      }
      return verdict.isAllowed ? ExitStatus.success : vetoStatus
    case .unreachable(let decision) where query.isDryRun || decision == .vetoed:
      query.show(decision, in: context)
      return decision == .allowed ? ExitStatus.success : vetoStatus
    case .unreachable:
      let begun = Task { [query] in await Beginning.begin(query, in: context) }
      defer { begun.cancel() }
      return await router.run(command, in: context).shellStatus
    case .interrupted(let signal):
      // The cancellation withdraws the query, and erases the list of awaited delegates from the screen.
      asking.cancel()
      await first(of: { _ = await asking.value }, { await sleep(.seconds(1)) })
      return 128 + signal
    case .failed(let error): throw error
    }
    // Once *will* is announced, the outcome must be announced, too, before a signal may end this process.
    try await announceWill(over: connection, until: router.interruption, in: context)
    let own = await beginning.inheritable(of: query, in: context)
    let termination = await router.run(
      command, inheriting: { () throws(Errno) in try own?.action.duplicateSocket() }, in: context)
    switch termination {
    case .exited(0): if let names { await announce(names.did, userInfo, over: connection, in: context) }
    case .exited(let status): await announceFailure("status", status, over: connection, in: context)
    case .killed(let signal): await announceFailure("signal", signal, over: connection, in: context)
    }
    // Closing the connection ends the action, even if a process in the background has inherited the socket.
    await own?.connection.close()
    await connection.close()
    return termination.shellStatus
  }

  // MARK: Should and will

  private enum Consent: Sendable {
    case allowed(Connection, Verdict)
    case vetoed(Verdict)
    case dryRun(Verdict)
    case unreachable(Verdict.Decision)
    case interrupted(Int32)
    case failed(CommandError)
  }

  private func ask(in context: Context) async -> Consent {
    let connection: Connection
    do throws(TribuneError) {
      connection = try await context.waitingForBus(toAsk: true) {
        () async throws(TribuneError) -> Connection in
        if let patient {
          try await patient.connect(in: context)
        } else {
          try await context.connectToStay(updating: presence)
        }
      }
    } catch {
      guard let decision = withoutBus.decision(after: error, in: context) else {
        return .failed(CommandError(error, status: ExitStatus.noVerdict))
      }
      return .unreachable(decision)
    }
    do throws(TribuneError) {
      let verdict =
        if let patient {
          try await patient.ask(over: connection, in: context)
        } else {
          try await query.ask(over: connection, in: context)
        }
      if query.isDryRun { return .dryRun(verdict) }
      guard verdict.isAllowed else { return .vetoed(verdict) }
      return .allowed(connection, verdict)
    } catch {
      return .failed(CommandError(error, status: ExitStatus.noVerdict))
    }
  }

  /// Posts *will*, and waits for the bus's confirmation, because the command must not run unannounced. If it
  /// is unknown whether the bus has received *will*, also announces that the action failed.
  private func announceWill(
    over connection: Connection, until interruption: Task<Int32, Never>, in context: Context
  ) async throws(CommandError) {
    guard let names else { return }
    do throws(TribuneError) {
      if let waiting {
        try await postWill(names, waiting, over: connection, until: interruption, in: context)
      } else {
        try await bounded(by: context.timeout) { [self] () async throws(TribuneError) in
          try await connection.postAcknowledged(names.will, object: object, userInfo: userInfo)
        }
      }
    } catch {
      if error.code == .unreachable || error.meansLostConnection {
        await announceFailure("status", ExitStatus.noVerdict, over: connection, in: context)
      }
      throw CommandError(error, status: ExitStatus.noVerdict)
    }
  }

  /// Posts *will*, and waits for acknowledgements, or a signal. Missing acknowledgements are only reported.
  private func postWill(
    _ names: ActionNames, _ waiting: Waiting, over connection: Connection,
    until interruption: Task<Int32, Never>,
    in context: Context
  ) async throws(TribuneError) {
    let posting = Task { () async -> Result<AwaitedReply, TribuneError> in
      do throws(TribuneError) {
        return .success(
          try await waiting.whileWaited(over: connection) {
            [self] deadline throws(TribuneError) -> AwaitedReply in
            try await connection.postAwaited(
              names.will, object: object, userInfo: userInfo, deadline: deadline)
          })
      } catch {
        return .failure(error)
      }
    }
    let reply = await first(
      of: { () async -> Result<AwaitedReply, TribuneError>? in await posting.value },
      { () async -> Result<AwaitedReply, TribuneError>? in
        _ = await interruption.value
        return nil
      })
    guard let reply, let reply else {
      // When `posting` has ended, *will* is either posted before all later posts, or will never be posted.
      posting.cancel()
      _ = await posting.value
      return
    }
    context.reportMissing(in: try reply.get(), of: names.will, object: object)
  }

  private func report(_ verdict: Verdict, _ what: String, in context: Context) {
    context.terminal.report("\(subjectText(action, object)) \(what):")
    let against = verdict.outcomes.filter { $0.isObjection }
    let failures = verdict.vetoingFailures
    for outcome in against {
      context.terminal.reportLine("  " + outcome.plainLine(isVetoingFailure: failures == [outcome]))
    }
    if verdict.omittedCount > 0 {
      context.terminal.reportLine("  of \(verdict.omittedCount) more, the bus did not say the outcome")
    }
    if verdict.isUnanswered {
      context.terminal.reportLine("  no delegate approved it\(verdict.defaultText(query.fallback))")
    }
  }

  // MARK: Did

  private func announceFailure(
    _ kind: String, _ number: Int32, over connection: Connection, in context: Context
  ) async {
    guard let names else { return }
    await announce(names.didFailTo, UserInfo("{\"\(kind)\":\(number)}"), over: connection, in: context)
  }

  /// Posts as soon as the bus is reachable. If the connection has already ended, posts over a new one.
  private func announce(
    _ name: String, _ userInfo: UserInfo, over connection: Connection, in context: Context
  ) async {
    let isOver = connection.hasEnded
    do throws(TribuneError) {
      do throws(TribuneError) {
        try await post(name, userInfo, over: connection, while: presence)
      } catch {
        guard error.meansLostConnection else { throw error }
        // The post is repeated, because the bus may have been killed before it confirmed the post.
        if !connection.hasEnded {
          try await post(name, userInfo, over: connection, while: presence)
        } else if isOver || !presence.isUnreachable {
          try await post(name, userInfo, over: try await context.connect(within: Self.announcementTimeout))
        } else {
          throw error
        }
      }
    } catch {
      context.terminal.report("\(name) could not be posted: \(error.message.terminalSafe)")
    }
  }

  private static let announcementTimeout = Duration.seconds(5)

  private func post(
    _ name: String, _ userInfo: UserInfo, over connection: Connection, while presence: BusPresence? = nil
  ) async throws(TribuneError) {
    try await bounded(by: Self.announcementTimeout, while: presence) {
      [self] () async throws(TribuneError) in
      try await connection.postAcknowledged(name, object: object, userInfo: userInfo)
    }
  }
}

extension TribuneError {
  fileprivate var meansLostConnection: Bool {
    [.connectionLost, .shuttingDown, .tooSlow, .protocolViolation].contains(code)
  }
}
