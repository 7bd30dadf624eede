// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneSystem
import TribuneWire

struct LeaseTurn: Sendable {
  enum End: Sendable {
    case acquired(again: Bool)
    case late([ListedOwner])
    case failed(CommandError)
  }

  /// The longest pause between two requests. After this pause, this process asks again even without an
  /// announced change, because it can miss announcements.
  private static let pause = Duration.seconds(10)
  private static let pauseMin = Duration.milliseconds(200)

  /// The id of this acquisition, which all its requests contain.
  let id: String
  private let lease: String
  private let query: LeaseQuery
  /// How long to wait for the lease; nil without a limit.
  private let span: Duration?

  init(_ lease: String, _ invocation: Invocation) throws(CommandError) {
    self.lease = lease
    span = invocation.leaseWait
    let digits = Array("0123456789abcdef")
    id = String((0..<32).map { _ in digits[Int.random(in: 0..<16)] })
    query = LeaseQuery(
      "acquire", lease,
      [
        ("id", .string(id)), ("slots", .integer(Int(invocation.number(.slots) ?? 1))),
        ("label", .string(invocation.commandName(orOf: ThisProcess.parent))),
      ])
  }

  func wait(in context: Context) async -> End {
    let end = span.map { ContinuousClock.now + $0 }
    let changes = ChangeSignal()
    let connection: Connection
    do throws(TribuneError) {
      connection = try await context.connectToStay(onReturn: { changes.signal() })
      if span != .zero {
        let news = try await bounded(by: context.timeout) {
          [lease] () async throws(TribuneError) -> Notifications in
          try await connection.observe(
            anyOf: ["cluster.lease.didRelease", "cluster.lease.didBreak"], object: lease)
        }
        Task { await watch(news, changes) }
      }
    } catch {
      return .failed(CommandError(error, status: ExitStatus.noVerdict))
    }
    let result = await ask(over: connection, changes, until: end, in: context)
    await connection.close()
    return result
  }

  private func watch(_ news: Notifications, _ changes: ChangeSignal) async {
    do throws(TribuneError) {
      for try await _ in news { changes.signal() }
      changes.signal()
    } catch {
      changes.signal()
    }
  }

  private func ask(
    over connection: Connection, _ changes: ChangeSignal, until end: ContinuousClock.Instant?,
    in context: Context
  ) async -> End {
    var owners: [ListedOwner]?
    var failure: String?
    while true {
      do throws(CommandError) {
        switch try await query.reply(over: connection) {
        case .acquired(let again): return .acquired(again: again)
        case .busy(let now):
          if !context.isQuiet, now != owners { report(now, in: context) }
          (owners, failure) = (now, nil)
        case .refused(let why): return .failed(lack("\(lease): \(why.terminalSafe)"))
        default: return .failed(lack("the reply to \(query.name) is unexpected"))
        }
      } catch {
        guard owners != nil, !connection.hasEnded else {
          return .failed(error)
        }
        if failure != error.message {
          context.terminal.report("still waiting for \(lease): \(error.message)")
        }
        failure = error.message
      }
      if Task.isCancelled { return .late(owners ?? []) }
      if let end, ContinuousClock.now >= end { return .late(owners ?? []) }
      await rest(changes, until: end)
    }
  }

  private func lack(_ message: String) -> CommandError {
    CommandError(message: message, status: ExitStatus.noVerdict)
  }

  private func rest(_ changes: ChangeSignal, until end: ContinuousClock.Instant?) async {
    let earliest = ContinuousClock.now + Self.pauseMin
    let latest = min(end ?? .now + Self.pause, .now + Self.pause)
    let alarm = Task {
      await sleep(ContinuousClock.now.duration(to: latest))
      if !Task.isCancelled { changes.signal() }
    }
    await changes.wait()
    alarm.cancel()
    await sleep(ContinuousClock.now.duration(to: earliest))
  }

  private func report(_ owners: [ListedOwner], in context: Context) {
    context.terminal.reportLine("waiting for \(lease):")
    for owner in owners { context.terminal.reportLine("  \(owner.line)") }
  }
}
