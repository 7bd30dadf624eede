// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

/// Registering and taking back delegates, holds and declarations.
extension Link {
  /// Takes a registration back. Cancelling the task does not stop it, so that the bus and the connection stay in
  /// agreement. Does nothing when the registration is over.
  func takeBack(_ registration: Serial) async throws(TribuneError) {
    let result = await Reply<Okay>.wait { reply in
      guard let actions = state.withLock({ $0.takeBack(registration, reply) }) else { return Okay() }
      routesVersion.add(1, ordering: .releasing)
      perform(actions)
      return nil
    }
    // If the bus does not know the registration any more, the purpose is achieved.
    if case .failure(let error) = result, error.code != .notFound { throw error }
  }

  var epoch: Int { state.withLock { $0.epoch } }

  /// A duplicate of the socket over which the bus has taken a hold as the last frame.
  ///
  /// - Returns: nil if there is another socket since.
  func duplicateSocket(of term: HoldTerm) throws(Errno) -> FileDescriptor? {
    guard let epoch = term.lastEpoch else { return nil }
    // An interruption has another epoch from its beginning, before the socket is replaced.
    return try state.withLock { state throws(Errno) -> FileDescriptor? in
      guard state.isServing, !state.isInterrupted, state.epoch == epoch else { return nil }
      return try socket.duplicate()
    }
  }
}

extension LinkState {
  /// - Returns: nil if it is over already.
  mutating func takeBack(_ registration: Serial, _ reply: Reply<Okay>) -> [Action]? {
    var actions: [Action] = []
    switch removeRegistration(registration) {
    case nil: return nil
    case .attachment(let attached)?:
      actions = [.endAttachment(attached)] + takeQuestions(of: registration).map { .withdraw($0) }
    case .hold(let term)?: actions = [.endHold(term, hasExpired: false)]
    case .declaration?, .monitor?: break
    }
    // A closing connection ends it, too. Calls that wait for its end are resumed even so.
    guard isAsking else { return actions + [.okay(reply, .failure(.closed))] }
    let serial = nextSerial()
    requests[serial] = .takingBack(reply)
    return actions + [.send(outbox.append(Cancel(target: registration), serial: serial))]
  }

  @discardableResult mutating func removeRegistration(_ serial: Serial) -> Registration? {
    registered[serial] = nil
    return registrations.removeValue(forKey: serial)
  }

  /// The bus has ended a registration. If its policy has changed, the connection ends, as if the registration had been
  /// refused after an interruption: a hold or a delegate that is not in force any more must not go unnoticed.
  mutating func ended(_ serial: Serial, _ ended: Ended) -> [Action] {
    switch ended {
    case .notPermitted(let why): return end(TribuneError(.notPermitted, why))
    case .expired:
      if case .hold(let term) = removeRegistration(serial) { return [.endHold(term, hasExpired: true)] }
      return []
    case .replaced(let entry):
      let registration = removeRegistration(serial)
      // The bus does not report to it any more how its queries end.
      let actions: [Action] = takeQuestions(of: serial).map { .cancel($0) }
      guard let attached = registration?.attached, attached.replace(by: DelegateInfo(entry)) else {
        return actions
      }
      return [.work(.deliveries(attached))] + actions
    }
  }

  mutating func takeQuestions(of attachment: Serial) -> [OpenQuestion] {
    let keys = questions.filter { $0.value.attachment == attachment }.map(\.key)
    return keys.compactMap { questions.removeValue(forKey: $0) }
  }
}

extension String {
  /// The bytes of a reason or a status, truncated to its limit.
  var reasonBytes: [UInt8] { Array(prefix(utf8Length: WireLimits.reasonLength).utf8) }
}
