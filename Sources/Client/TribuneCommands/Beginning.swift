// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneSystem

/// The action that `guard` begins on the bus. If `guard` asks again, the earlier action ends first.
final class Beginning: Sendable {
  private let action = Mutex<Action?>(nil)

  func begin(
    _ ask: () async throws(TribuneError) -> (Verdict, Action?)
  ) async throws(TribuneError) -> Verdict {
    if let before = action.withLock({ $0.take() }) { try await before.end() }
    let (verdict, begun) = try await ask()
    action.withLock { $0 = begun }
    return verdict
  }

  /// Moves the action to a separate connection, which the command can inherit. The action then stays under
  /// way even if this process is killed. If the query has begun no action, as with `--scope=`, this function
  /// begins one on the new connection.
  ///
  /// - Returns: nil after an error, which this function has reported.
  func inheritable(of query: Query, in context: Context) async -> Inheritable? {
    do throws(TribuneError) {
      let connection = try await Self.lastingConnection(in: context)
      let action: Action
      if let begun = self.action.withLock({ $0 }) {
        action = try await begun.move(to: connection)
      } else {
        action = try await connection.begin(unasked: query.name, object: query.object, isLast: true)
      }
      return Inheritable(action: action, connection: connection)
    } catch {
      context.terminal.report(
        "if tribunectl is killed, the action ends before its command: \(error.message.terminalSafe)")
      return nil
    }
  }

  /// Waits for a bus, and tells this bus that the action began while there was no bus. Cancelling the task
  /// ends the action on the bus.
  static func begin(_ query: Query, in context: Context) async {
    do throws(TribuneError) {
      let connection = try await tryUntilDone { () async throws(TribuneError) -> Connection in
        let connection = try await lastingConnection(in: context)
        _ = try await connection.begin(unasked: query.name, object: query.object, isLast: false)
        return connection
      } while: {
        ![.notPermitted, .invalidName, .reservedName].contains($0.code)
      }
      context.terminal.report("the bus knows now that \(query.askedName) has begun without it")
      if let error = await connection.closed() { throw error }
    } catch {
      guard !Task.isCancelled else { return }
      context.terminal.report("the bus does not know what has begun: \(error.message.terminalSafe)")
    }
  }

  /// Returns a connection that never stops looking for a lost bus. A new bus must know of the action, to tell
  /// new holders about it.
  private static func lastingConnection(in context: Context) async throws(TribuneError) -> Connection {
    var context = context
    context.reconnectTimeout = nil
    return try await context.connect()
  }

  struct Inheritable: Sendable {
    let action: Action
    let connection: Connection
  }
}
