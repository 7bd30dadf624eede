// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneWire

/// Actions under way that had begun before the holds, which could not veto them.
extension HoldCommand {
  private enum Wait: Sendable {
    case settled, lost, overdue, interrupted
  }

  /// - Returns: the holds, which were taken again if the bus was lost meanwhile; nil after a signal.
  func settle(
    _ held: Held, _ standing: HoldStanding, _ router: SignalRouter, in context: Context
  ) async throws(CommandError) -> Held? {
    var held = held
    while held.isLate {
      await report(held, in: context)
      guard case .wait(let span) = lateness else {
        if lateness == .run { return held }
        await held.connection.close()
        throw CommandError(message: "the hold is too late: nothing was run", status: ExitStatus.noVerdict)
      }
      switch await wait(for: held.holds, atMost: span, router) {
      case .settled: return held
      case .lost:
        let reason = await held.connection.closed()?.message ?? "the connection was closed"
        guard let again = await takeLater(because: reason, isFirst: false, standing, in: context) else {
          throw CommandError(message: "the hold has expired: nothing was run", status: ExitStatus.noVerdict)
        }
        held = again
      case .overdue:
        await held.connection.close()
        throw CommandError(
          message: "the actions have not ended in time: nothing was run", status: ExitStatus.noVerdict)
      case .interrupted:
        await held.connection.close()
        return nil
      }
    }
    return held
  }

  private func wait(
    for holds: [Tribune.Hold], atMost span: Duration?, _ router: SignalRouter
  ) async -> Wait {
    let ended = await first(
      of: { () async -> Wait in
        repeat {
          for hold in holds where await !hold.settled() { return .lost }
          // A bus that lost its state learns of the actions from their owners.
          await presence.waitUntilSettled()
        } while holds.contains { $0.late > 0 }
        return .settled
      },
      { () async -> Wait in
        _ = await router.interruption.value
        return .interrupted
      },
      { () async -> Wait in
        guard let span else {
          _ = await router.interruption.value
          return .interrupted
        }
        await sleep(span)
        return .overdue
      })
    return ended ?? .interrupted
  }

  /// Without a command, only reports them, and their end.
  func reportLateness(of held: Held, in context: Context) {
    guard held.isLate else { return }
    Task {
      await report(held, in: context)
      for hold in held.holds where await !hold.settled() { return }
      context.terminal.reportLine("the actions have ended")
    }
  }

  private func report(_ held: Held, in context: Context) async {
    let what =
      if command.isEmpty || lateness == .fail {
        "the hold is too late for"
      } else {
        lateness == .run ? "the command runs beside" : "the hold waits for"
      }
    let count = held.holds.map { $0.late }.max() ?? 0
    context.terminal.report("\(what) \(count == 1 ? "an action" : "\(count) actions") under way")
    for action in await actions(in: context) { context.terminal.reportLine("  \(action.line)") }
  }

  /// Empty if this user may not list them.
  private func actions(in context: Context) async -> [ActionInfo] {
    do throws(CommandError) {
      let all = try await context.request { bus throws(TribuneError) in try await bus.actions() }
      return all.filter { action in targets.contains { $0.meets(action) } }
    } catch {
      return []
    }
  }
}

/// What a hold with a command does about actions under way.
enum Lateness: Equatable, Sendable {
  /// Nil is for ever.
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
