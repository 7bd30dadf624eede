// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

extension Link {
  /// Cancelling the task does not stop the call, because bus and client must agree about the registrations.
  func takeBack(_ registration: Serial) async throws(TribuneError) {
    let result = await Reply<Response>.wait { reply in
      guard let actions = state.withLock({ $0.takeBack(registration, reply) }) else { return .okay(Okay()) }
      routesVersion.add(1, ordering: .releasing)
      perform(actions)
      return nil
    }
    // `notFound` means that the registration had already ended on the bus.
    if case .failure(let error) = result, error.code != .notFound { throw error }
  }

  /// Forgets a registration that has moved to another connection.
  func forget(_ registration: Serial) {
    _ = state.withLock { $0.removeRegistration(registration) }
  }

  var epoch: Int { state.withLock { $0.epoch } }

  /// Duplicates the socket of `epoch`. Returns nil if the link has another socket now, or if `epoch` is nil.
  func duplicateSocket(lastOf epoch: Int?) throws(Errno) -> FileDescriptor? {
    guard let epoch else { return nil }
    // After the welcome, the link's thread replaces the socket only during interruptions. The epoch changes
    // when an interruption starts. So outside interruptions, `socket` is the socket of the current epoch.
    return try state.withLock { state throws(Errno) -> FileDescriptor? in
      guard state.isServing, !state.isInterrupted, state.epoch == epoch else { return nil }
      return try socket.duplicate()
    }
  }
}

extension LinkState {
  mutating func takeBack(_ registration: Serial, _ reply: Reply<Response>) -> [Action]? {
    var actions: [Action] = []
    switch removeRegistration(registration) {
    case nil: return nil
    case .attachment(let attached)?:
      actions = [.endAttachment(attached)] + takeQuestions(of: registration).map { .withdraw($0) }
    case .hold(let term)?: actions = [.endHold(term, hasExpired: false)]
    case .observation?, .action?, .declaration?, .monitor?: break
    }
    // A closing connection sends no `cancel`, because the connection's end also ends the registration. The
    // actions still resume the calls that wait for the registration's end.
    guard isAsking else { return actions + [.resume(reply, .failure(.closed))] }
    let serial = nextSerial()
    entries[serial] = LinkEntry(subject: .takingBack, stage: .requested(reply))
    return actions + [.send(outbox.append(Cancel(target: registration), serial: serial))]
  }

  mutating func late(_ serial: Serial, _ count: Int) -> [Action] {
    if case .hold(let term)? = entries[serial]?.confirmed { [.late(term, count)] } else { [] }
  }

  /// Returns nil, and changes nothing, unless the bus has confirmed the registration.
  @discardableResult mutating func removeRegistration(_ serial: Serial) -> LinkEntry.Registration? {
    guard let registration = entries[serial]?.confirmed else { return nil }
    entries[serial] = nil
    return registration
  }

  /// Handles the bus's report of an ended registration. If the policy ended the registration, the connection
  /// ends, because the program must notice. Only an attachment with `onRefusal` ends alone (`endAlone`).
  mutating func ended(_ serial: Serial, _ ended: Ended) -> [Action] {
    switch ended {
    case .notPermitted(let why):
      let error = TribuneError(.notPermitted, why)
      return endAlone(serial, error) ?? end(error)
    case .expired:
      if case .hold(let term) = removeRegistration(serial) { return [.endHold(term, hasExpired: true)] }
      return []
    case .replaced(let entry):
      let registration = removeRegistration(serial)
      // The bus reports the ends of queries only to attached delegates, not to replaced ones.
      let actions: [Action] = takeQuestions(of: serial).map { .cancel($0) }
      guard case .attachment(let attached)? = registration, attached.replace(by: DelegateInfo(entry)) else {
        return actions
      }
      return [.work(.deliveries(attached))] + actions
    }
  }

  /// If the registration is an attachment with `onRefusal`, ends only the attachment. Otherwise, returns nil.
  mutating func endAlone(_ serial: Serial, _ error: TribuneError) -> [Action]? {
    guard let attached = entries[serial]?.attached, attached.onRefusal != nil else { return nil }
    removeRegistration(serial)
    return takeQuestions(of: serial).map { .cancel($0) } + [.refuse(attached, error)]
  }

  mutating func takeQuestions(of attachment: Serial) -> [OpenQuestion] {
    let keys = questions.filter { $0.value.attachment == attachment }.map(\.key)
    return keys.compactMap { questions.removeValue(forKey: $0) }
  }
}

extension String {
  var reasonBytes: [UInt8] { Array(prefix(utf8Length: WireLimits.reasonLength).utf8) }
}
