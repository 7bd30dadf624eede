// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem
import TribuneWire

/// Handles actions that began before the holds, so the holds could not veto these actions.
extension HoldCommand {
  private enum Wait: Sendable {
    case settled, lost, expired, overdue, interrupted
  }

  /// - Returns: the holds, or new holds if the bus was lost. Nil after a signal, or if the holds expired
  ///   while the bus was lost.
  func settle(
    _ held: Held, _ standing: HoldStanding, _ router: SignalRouter, in context: Context
  ) async throws(CommandError) -> Held? {
    guard held.isLate else { return held }
    let what =
      lateness == .fail
      ? "the hold is too late for" : lateness == .run ? "the command runs beside" : "the hold waits for"
    let late = await report(held, as: what, in: context)
    if lateness == .run { return held }
    if lateness == .wait(nil), let own = late.first(where: { ProcessFacts.isAncestor($0.pid) }) {
      throw await release(
        held, because: "\(own.process) (pid \(own.pid)) runs this command as that action (see --late=run)")
    }
    var held = held
    while true {
      switch await wait(for: held.holds, standing, router) {
      case .settled: return held
      case .lost:
        guard let again = await takeAgain(held, standing, router, in: context) else {
          if standing.isOver { throw await release(held, because: "the hold has expired") }
          return nil
        }
        held = again
      case .expired: throw await release(held, because: "the hold has expired")
      case .overdue where lateness == .fail: throw await release(held, because: "the hold is too late")
      case .overdue: throw await release(held, because: "the actions have not ended in time")
      case .interrupted:
        await held.connection.close()
        return nil
      }
    }
  }

  func release(_ held: Held, because reason: String) async -> CommandError {
    await held.connection.close()
    return command.isEmpty
      ? .failure(reason) : CommandError(message: "\(reason): nothing was run", status: ExitStatus.noVerdict)
  }

  /// - Returns: nil after a signal, or if the holds expired meanwhile.
  private func takeAgain(
    _ held: Held, _ standing: HoldStanding, _ router: SignalRouter, in context: Context
  ) async -> Held? {
    let taken = await first(
      of: { () async -> Held? in
        let reason = await held.connection.closed()?.message ?? "the connection was closed"
        return await takeLater(because: reason, isFirst: false, standing, in: context)
      },
      { () async -> Held? in
        _ = await router.interruption.value
        return nil
      })
    // The new bus may have lost its state, so all clients get time to return to it.
    presence.update(for: .reconnected(lost: nil))
    return taken ?? nil
  }

  private func wait(
    for holds: [Tribune.Hold], _ standing: HoldStanding, _ router: SignalRouter
  ) async -> Wait {
    let limit: Duration? =
      switch lateness {
      case .wait(let span): span
      case .fail, .run: .zero
      }
    let ended = await first(
      of: { () async -> Wait in
        repeat {
          for hold in holds where await !hold.settled() { return await hold.expired() ? .expired : .lost }
          // A bus that lost its state learns of actions from their owners, which need time to return.
          await presence.uninterrupted(for: .milliseconds(100))
          await presence.waitUntilSettled()
        } while !Task.isCancelled && (!presence.isSettled || holds.contains { $0.late > 0 })
        return .settled
      },
      { () async -> Wait in
        _ = await router.interruption.value
        return .interrupted
      },
      { () async -> Wait in
        // While there is no bus, only this process notices that the holds expire.
        let left = standing.left.map { max(.zero, $0) }
        guard let end = [limit, left].compactMap(\.self).min() else {
          _ = await router.interruption.value
          return .interrupted
        }
        await sleep(end)
        return end == left ? .expired : .overdue
      })
    return ended ?? .interrupted
  }

  /// For a hold without a command: reports the actions under way, and later their end. Returns at once.
  func reportLateness(of held: Held, in context: Context) {
    guard held.isLate else { return }
    Task {
      await report(held, as: "the hold is too late for", in: context)
      for hold in held.holds where await !hold.settled() { return }
      context.terminal.reportLine("the actions have ended")
    }
  }

  @discardableResult func report(
    _ held: Held, as what: String, in context: Context
  ) async -> [ActionInfo] {
    let count = held.holds.map { $0.late }.max() ?? 0
    let actions = await actions(in: context)
    let isClaimed = !actions.isEmpty && actions.allSatisfy { $0.stage == .claiming }
    context.terminal.report(
      "\(what) \(count == 1 ? "an action" : "\(count) actions") \(isClaimed ? "claimed" : "under way")")
    for action in actions { context.terminal.reportLine("  \(action.line)") }
    return actions
  }

  /// The actions under way, and claimed ones, that the holds concern; empty if this user may not list them.
  private func actions(in context: Context) async -> [ActionInfo] {
    do throws(CommandError) {
      let all = try await context.request { bus throws(TribuneError) in
        try await bus.actions(includingWaiting: true)
      }
      return all.filter { action in action.stage != .waiting && targets.contains { $0.meets(action) } }
    } catch {
      return []
    }
  }
}

/// What a hold with a command does if actions are under way.
enum Lateness: Equatable, Sendable {
  /// Waits for the end of the actions, at most for this time; nil sets no limit.
  case wait(Duration?)
  case fail, run

  init(_ invocation: Invocation) throws(CommandError) {
    guard let text = invocation.text(.late) else {
      self = .wait(nil)
      return
    }
    guard !invocation.command.isEmpty else { throw .usage("--late needs a command after --") }
    switch text {
    case "wait": self = .wait(nil)
    case "fail": self = .fail
    case "run": self = .run
    default:
      guard text.hasPrefix("wait:") else { throw .usage("--late must be wait, wait:SPAN, fail or run") }
      do throws(TimeSpan.SyntaxError) {
        self = .wait(try TimeSpan(String(text.dropFirst("wait:".count))).duration)
      } catch {
        throw .usage("--late=\(text.terminalSafe): \(error.description)")
      }
    }
  }
}
