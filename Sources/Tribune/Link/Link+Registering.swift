// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

/// Registering and taking back delegates, holds and declarations.
extension Link {
  /// Takes a registration back. Cancelling the task does not stop it, so that the bus and the connection stay in
  /// agreement. Does nothing when the registration is over.
  func takeBack(_ registration: Serial) async throws(TribuneError) {
    let result = await Reply<Okay>.wait { reply in
      let actions = state.withLock { state -> [LinkState.Action]? in
        guard let actions = state.forget(registration) else { return nil }
        // A closing connection ends it, too; calls that wait for its end are resumed all the same.
        guard state.isAsking else { return actions + [.okay(reply, .failure(.closed))] }
        let serial = state.nextSerial()
        state.requests[serial] = .takingBack(reply)
        return actions + [.send(state.outbox.append(Cancel(target: registration), serial: serial))]
      }
      guard let actions else { return Okay() }
      routesVersion.add(1, ordering: .releasing)
      perform(actions)
      return nil
    }
    // If the bus does not know the registration any more, the purpose is achieved.
    if case .failure(let error) = result, error.code != .notFound { throw error }
  }

  /// Handles the bus's report that it has ended a registration.
  func ended(_ serial: Serial, _ ended: Ended) {
    let actions = state.withLock { $0.ended(serial, ended) }
    routesVersion.add(1, ordering: .releasing)
    perform(actions)
  }
}

extension LinkState {
  /// A registration is taken back.
  ///
  /// - Returns: nil if it is over already.
  mutating func forget(_ serial: Serial) -> [Action]? {
    registered[serial] = nil
    switch registrations.removeValue(forKey: serial) {
    case nil: return nil
    case .attachment(let attached)?:
      return [.endAttachment(attached)] + takeQuestions(of: serial).map { .withdraw($0) }
    case .hold(let term)?: return [.endHold(term, hasExpired: false)]
    case .declaration?, .monitor?: return []
    }
  }

  /// The bus has ended a registration.
  fileprivate mutating func ended(_ serial: Serial, _ ended: Ended) -> [Action] {
    let registration = registrations.removeValue(forKey: serial)
    registered[serial] = nil
    switch ended {
    case .expired:
      if case .hold(let term) = registration { return [.endHold(term, hasExpired: true)] }
      return []
    case .replaced(let entry):
      // The bus does not report to it any more how its queries end.
      let actions: [Action] = takeQuestions(of: serial).map { .cancel($0) }
      guard let attached = registration?.attached, attached.replace(by: DelegateInfo(entry)) else {
        return actions
      }
      return [.work(.news(attached))] + actions
    }
  }

  /// Removes the questions of an attachment that is over.
  mutating func takeQuestions(of attachment: Serial) -> [OpenQuestion] {
    let keys = questions.filter { $0.value.attachment == attachment }.map(\.key)
    return keys.compactMap { questions.removeValue(forKey: $0) }
  }
}

extension String {
  /// The bytes of a reason or a status, truncated to its limit.
  var reasonBytes: [UInt8] { Array(prefix(utf8Length: WireLimits.reasonLength).utf8) }
}
