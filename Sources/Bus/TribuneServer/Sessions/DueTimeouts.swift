// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// Handles due deadlines of the core, and due `Timeouts`, when an iteration begins.
///
/// Input that a client sent before its deadline counts, so the bus first reads from connections with due
/// deadlines. The bus cannot read all input of a connection now if the user's share of the iteration's time
/// is used up, or if the client is a paused poster. The deadlines of such a connection wait for a limited
/// number of rounds.
final class DueTimeouts {
  /// The most rounds in which deadlines wait for one connection. A round lasts at least `roundNanoseconds`.
  static let roundsMax = 100
  private static let roundNanoseconds: UInt64 = 10_000_000

  private let context: ServerContext
  private let sessions: SessionTable
  private let sender: Sender
  private let interpreter: Interpreter
  private let acceptor: Acceptor
  private let gatekeeper: Gatekeeper
  private let reader: FrameReader

  init(
    _ interpreter: Interpreter, _ acceptor: Acceptor, _ gatekeeper: Gatekeeper, _ reader: FrameReader,
    _ context: ServerContext
  ) {
    (sessions, sender) = (context.sessions, interpreter.sender)
    (self.interpreter, self.acceptor, self.gatekeeper) = (interpreter, acceptor, gatekeeper)
    (self.reader, self.context) = (reader, context)
  }

  func check() {
    advance()
    interpreter.deliverDue()
    while let (kind, token) = context.timeouts.value.popDue(at: context.now) { check(kind, token) }
    // The hello timeout of a connection that has sent its hello must not wake the bus.
    context.timeouts.value.drop { kind, token in
      kind == .hello && sessions[token]?.isAwaitingHello != true
    }
  }

  private func advance() {
    guard interpreter.isAnythingDue else { return }
    let end = context.now.advanced(byNanoseconds: Self.roundNanoseconds)
    var unheard: [Session] = []
    for slot in interpreter.bus.value.overdueSlots(at: context.now) {
      guard let session = sessions[slot], session.isServed else { continue }
      guard !reader.hear(session) else {
        session.input.roundCount = 0
        continue
      }
      if session.input.roundEnd <= context.now {
        session.input.roundCount += 1
        session.input.roundEnd = end
      }
      if session.input.roundCount <= Self.roundsMax { unheard.append(session) }
    }
    interpreter.advance(waitingFor: unheard, until: end)
  }

  private func check(_ kind: Timeouts.Kind, _ token: WatchToken) {
    switch (kind, sessions[token]) {
    case (.accept, _): acceptor.resume()
    case (.log, _):
      gatekeeper.writeOmittedClosings()
      context.logOmitted()
    case (.files, _): sender.unreadFiles.examineEnded()
    case (.hello, let session?):
      guard session.isAwaitingHello else { return }
      gatekeeper.dismiss(session, WireError(.helloTimeout, "no hello came in time"))
    case (.frame, let session?): reader.checkProgress(of: session)
    case (.pace, let session?):
      sender.checkPacing(of: session)
      interpreter.relieveAndAnnounceIfNeeded()
    case (.retry, let session?): sender.retry(session)
    case (.unread, let session?): interpreter.checkUnreadAgain(of: session)
    case (.close, let session?): if session.isClosing { gatekeeper.close(session) }
    case (.detached, nil): if let session = sessions.detached(token) { gatekeeper.close(session) }
    case (.detached, _), (_, nil): break
    }
  }
}
