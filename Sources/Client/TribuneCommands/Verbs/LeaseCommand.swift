// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneSystem
import TribuneWire

struct LeaseCommand: Command {
  var signals: [Int32] {
    switch action {
    case .run, .runHere: SignalWatch.relayed
    case .release, .breaking: []
    }
  }

  private enum Action {
    case run(LeaseTurn)
    case runHere(GuardCommand)
    case release
    case breaking(host: String, why: String)
  }

  private let lease: String
  private let action: Action
  private let command: [[UInt8]]
  private let keeps: Bool

  init(_ invocation: Invocation) throws(CommandError) {
    lease = try invocation.name(at: 0)
    command = invocation.command
    keeps = invocation.has(.keep)
    let others: [Option] = [.keep, .release, .break, .slots, .wait, .scope]
    if invocation.has(.release) {
      try invocation.refuse(others.filter { $0 != .release } + [.why], beside: .release)
      action = .release
    } else if let host = invocation.text(.break) {
      try invocation.refuse(others.filter { $0 != .break }, beside: .break)
      guard let why = invocation.text(.why), !invocation.isBlank(.why) else {
        throw .usage("--break needs --why=REASON")
      }
      action = .breaking(host: host, why: why)
    } else if invocation.scope() == .host {
      try invocation.refuse([.keep, .why], beside: .scope)
      guard !command.isEmpty else { throw .usage("--scope=host needs a command") }
      action = .runHere(try GuardCommand(lease: lease, invocation))
      return
    } else {
      guard keeps || !command.isEmpty else {
        throw .usage("lease needs a command, or one of --keep, --release and --break")
      }
      guard !invocation.has(.why) else { throw .usage("--why is for --break") }
      action = .run(try LeaseTurn(lease, invocation))
      return
    }
    guard command.isEmpty else { throw .usage("--release and --break take no command") }
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    switch action {
    case .run(let turn): return try await run(turn, in: context)
    case .runHere(let guarded): return try await guarded.run(in: context)
    case .release: return try await release(in: context)
    case .breaking(let host, let why): return try await take(from: host, why, in: context)
    }
  }

  // MARK: With a command

  private func run(_ turn: LeaseTurn, in context: Context) async throws(CommandError) -> Int32 {
    let router = SignalRouter.routing(context.signals)
    let waiting = Task { () async -> LeaseTurn.End in await turn.wait(in: context) }
    let end = await first(
      of: { () async -> LeaseTurn.End? in await waiting.value },
      { () async -> LeaseTurn.End? in
        _ = await router.interruption.value
        return nil
      })
    switch end {
    case .acquired?: return try await runCommand(turn, router, in: context)
    case .late(let owners)?:
      for owner in owners { context.terminal.reportLine("\(lease): \(owner.line)") }
      context.terminal.report("\(lease) did not become free in time")
      return ExitStatus.leaseBusy
    case .failed(let error)?: throw error
    case .some(nil), nil:
      let signal = await router.interruption.value
      try await takeBack(turn, waiting, in: context)
      return 128 + signal
    }
  }

  /// Stops waiting, which withdraws the request. If tribune-nats has taken the lease but not yet replied,
  /// tribune-nats releases the lease. If the reply has already arrived, this function releases the lease.
  private func takeBack(
    _ turn: LeaseTurn, _ waiting: Task<LeaseTurn.End, Never>, in context: Context
  ) async throws(CommandError) {
    waiting.cancel()
    let rest = await first(
      of: { () async -> LeaseTurn.End? in await waiting.value },
      { () async -> LeaseTurn.End? in
        await sleep(.seconds(1))
        return nil
      })
    if case .acquired(again: false)?? = rest { try await release(turn.id, in: context) }
  }

  private func runCommand(
    _ turn: LeaseTurn, _ router: SignalRouter, in context: Context
  ) async throws(CommandError) -> Int32 {
    if command.isEmpty {
      if !context.isQuiet { context.terminal.reportLine("this host has \(lease) until it is released") }
      return ExitStatus.success
    }
    let status = await router.run(command, in: context).shellStatus
    if status == ExitStatus.success, !keeps {
      do throws(CommandError) {
        try await release(turn.id, in: context)
      } catch {
        context.terminal.report("\(error.message); this host may still have \(lease)\(advice)")
      }
    } else if !context.isQuiet {
      let why = status == ExitStatus.success ? "" : "the command has failed: "
      context.terminal.report("\(why)this host keeps \(lease)\(advice)")
    }
    return status
  }

  private var advice: String { ", until \"tribunectl lease \(lease) --release\"" }

  /// Releases the lease. Retries until --timeout is over, because other hosts wait for the lease.
  private func release(_ id: String, in context: Context) async throws(CommandError) {
    let end = ContinuousClock.now + context.timeout
    var isFirst = true
    while true {
      do throws(CommandError) {
        let reply = try await LeaseQuery("release", lease, [("id", .string(id))]).reply(
          over: try await connect(in: context))
        switch reply {
        case .released: return
        case .absent:
          // In a retry, this is no error: an earlier attempt may have released the lease, although its reply
          // was lost.
          if isFirst { context.terminal.report("\(lease) was taken from this host meanwhile") }
          return
        default: throw .failure("\(lease) was not released")
        }
      } catch {
        guard ContinuousClock.now < end else { throw error }
        isFirst = false
      }
      await sleep(.seconds(1))
    }
  }

  private func connect(in context: Context) async throws(CommandError) -> Connection {
    try await orEnd(with: ExitStatus.noVerdict) { () async throws(TribuneError) -> Connection in
      try await context.connect()
    }
  }

  // MARK: Without a command

  private func release(in context: Context) async throws(CommandError) -> Int32 {
    let reply = try await LeaseQuery("release", lease).reply(over: try await connect(in: context))
    switch reply {
    case .released:
      if !context.isQuiet { context.terminal.reportLine("released \(lease)") }
    case .absent:
      // This is no error: units release the lease after each boot, even if their host does not have it.
      if !context.isQuiet { context.terminal.reportLine("this host does not have \(lease)") }
    case .refused(let why): throw .failure("\(lease) was not released: \(why.terminalSafe)")
    default: throw .failure("\(lease) was not released")
    }
    return ExitStatus.success
  }

  private func take(from host: String, _ why: String, in context: Context) async throws(CommandError) -> Int32
  {
    let query = LeaseQuery("break", lease, [("host", .string(host)), ("why", .string(why))])
    switch try await query.reply(over: try await connect(in: context)) {
    case .broken(let owner):
      if !context.isQuiet {
        context.terminal.reportLine("\(lease) was taken from \(owner.host.terminalSafe)")
      }
      return ExitStatus.success
    case .absent(let owners):
      for owner in owners { context.terminal.reportLine("\(lease): \(owner.line)") }
      throw .failure("\(host.terminalSafe) does not have \(lease)")
    case .refused(let why): throw .failure("\(lease): \(why.terminalSafe)")
    default: throw .failure("\(lease) was not taken from \(host.terminalSafe)")
    }
  }
}
