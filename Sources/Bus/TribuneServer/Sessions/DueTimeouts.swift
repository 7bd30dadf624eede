// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// Handles the sessions' timeouts when they are due.
final class DueTimeouts {
  private let context: ServerContext
  private let sessions: SessionTable
  private let sender: Sender
  private let interpreter: Interpreter
  private let acceptor: Acceptor
  private let gatekeeper: Gatekeeper
  private let reader: FrameReader

  init(
    _ sessions: SessionTable, _ sender: Sender, _ interpreter: Interpreter, _ acceptor: Acceptor,
    _ gatekeeper: Gatekeeper, _ reader: FrameReader, _ context: ServerContext
  ) {
    (self.sessions, self.sender, self.interpreter) = (sessions, sender, interpreter)
    (self.acceptor, self.gatekeeper, self.reader, self.context) = (acceptor, gatekeeper, reader, context)
  }

  func check() {
    while let (kind, token) = context.timeouts.value.popDue(at: context.now) { check(kind, token) }
    // Most of these connections have said hello long ago. Their timeouts must not wake the bus, once each.
    context.timeouts.value.drop { kind, token in
      kind == .hello && sessions[token]?.isAwaitingHello != true
    }
  }

  /// Handles a timeout, unless it has been settled before.
  private func check(_ kind: Timeouts.Kind, _ token: WatchToken) {
    switch (kind, sessions[token]) {
    case (.accept, _): acceptor.resume()
    case (.log, _):
      gatekeeper.writeOmittedClosings()
      context.reportOmitted()
    case (.files, _): sender.unreadFiles.examineEnded()
    case (.hello, let session?):
      guard session.isAwaitingHello else { return }
      gatekeeper.dismiss(session, WireError(.helloTimeout, "no hello came in time"))
    case (.frame, let session?): reader.checkProgress(of: session)
    case (.pace, let session?):
      sender.checkPacing(of: session)
      interpreter.settle()
    case (.retry, let session?): sender.retry(session)
    case (.unread, let session?): interpreter.checkUnreadAgain(of: session)
    case (.close, let session?): if session.isClosing { gatekeeper.close(session) }
    case (.detached, nil): if let session = sessions.detached(token) { gatekeeper.close(session) }
    case (.detached, _), (_, nil): break
    }
  }
}
