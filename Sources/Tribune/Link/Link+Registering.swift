// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

/// Registering and taking back delegates, holds and declarations.
extension Link {
  /// Attempts to attach. More than one is needed only if the same attachment is taken back at the same time.
  private static let attachingTries = 8

  /// - Returns: the serial that identifies the attachment, and its state on this side.
  func attach(
    _ delegate: any Delegate, to object: String, patterns: [Pattern], _ fields: Attach
  ) async throws(TribuneError) -> (LinkState.Registered, AttachedDelegate) {
    for _ in 1...Self.attachingTries {
      let message = Message(object: object)
      let registration = try await request(fields, message, isTakenBack: true) {
        (reply: Reply<LinkState.Registration>, serial) in
        var renewal = fields
        renewal.isSet = false
        return .attachment(
          reply,
          AttachedDelegate(
            delegate, object: object, patterns: patterns, renewal: renewal.frame(serial: serial, message)))
      }
      if case .attached(let registered, let attached) = registration { return (registered, attached) }
    }
    throw TribuneError(
      .refused, "the same delegate was taken back each of \(Self.attachingTries) times that it was attached")
  }

  func hold(
    _ pattern: String, object: String, why: String, _ term: HoldTerm
  ) async throws(TribuneError) -> LinkState.Registered {
    let message = Message(name: pattern, object: object, payload: why.reasonBytes)
    return try await request(TribuneWire.Hold(expiry: term.expiry), message, isTakenBack: true) { reply, _ in
      .registration(reply, .hold(term))
    }
  }

  func declare(
    _ object: String, as protocolName: String, definitions: String
  ) async throws(TribuneError) -> LinkState.Registered {
    let message = Message(object: object, payload: Array(definitions.utf8))
    return try await request(Declare(protocolName: protocolName), message, isTakenBack: true) { reply, _ in
      .registration(reply, .declaration)
    }
  }

  /// Takes a registration back. Cancelling the task does not stop it, so that the bus and the connection stay in
  /// agreement. Does nothing when the registration is over.
  func takeBack(_ kind: LinkState.RegistrationKind, _ registration: Serial) async throws(TribuneError) {
    let result = await Reply<Okay>.wait { reply in
      let takenBack = state.withLock { state -> (rest: LinkState.Rest, duty: Outbox.Duty?)? in
        guard let rest = state.forget(kind, registration) else { return nil }
        // A closing connection ends it, too; calls that wait for its end are resumed all the same.
        guard state.isAsking else { return (rest, nil) }
        let serial = state.nextSerial()
        state.requests[serial] = .takingBack(reply)
        return (rest, state.outbox.append(Cancel(target: registration), serial: serial))
      }
      guard let takenBack else {
        reply.resume(returning: .success(Okay()))
        return
      }
      routesVersion.add(1, ordering: .releasing)
      takenBack.rest.end()
      if let duty = takenBack.duty {
        perform(duty)
      } else {
        reply.resume(returning: .failure(.closed))
      }
    }
    // If the bus does not know the registration any more, the purpose is achieved.
    if case .failure(let error) = result, error.code != .notFound { throw error }
  }

  /// Handles the bus's report that it has ended a registration.
  func ended(_ serial: Serial, _ ended: Ended) {
    switch ended {
    case .expired:
      let term = state.withLock { state in
        state.registered[serial] = nil
        return state.holds.removeValue(forKey: serial)
      }
      term?.end(expired: true)
    case .replaced(let entry):
      let replaced = state.withLock { state in
        state.registered[serial] = nil
        return (state.attachments.removeValue(forKey: serial), state.takeQuestions(of: serial))
      }
      routesVersion.add(1, ordering: .releasing)
      if let attached = replaced.0, attached.replace(by: DelegateInfo(entry)) {
        work.withLock { $0.append(.news(attached)) }
      }
      // The bus does not report to it any more how its queries end.
      for question in replaced.1 { question.conclude(.cancelled, here: false) }
    }
  }
}

extension LinkState {
  /// The result of registering.
  struct Registered {
    /// The serial that identifies the registration.
    var serial: Serial
    /// The id of the delegate or the hold, over this connection.
    var id: UInt64
  }

  enum RegistrationKind {
    case attachment, hold, declaration
  }

  /// What remains to be ended of a registration that is over.
  struct Rest {
    var attached: AttachedDelegate?
    var questions: [OpenQuestion] = []
    var term: HoldTerm?

    func end() {
      attached?.end()
      for question in questions { question.withdraw() }
      term?.end(expired: false)
    }
  }

  /// - Returns: nil if it is over already.
  mutating func forget(_ kind: RegistrationKind, _ serial: Serial) -> Rest? {
    registered[serial] = nil
    switch kind {
    case .attachment:
      guard let attached = attachments.removeValue(forKey: serial) else { return nil }
      return Rest(attached: attached, questions: takeQuestions(of: serial))
    case .hold:
      guard let term = holds.removeValue(forKey: serial) else { return nil }
      return Rest(term: term)
    case .declaration:
      guard declarations.remove(serial) != nil else { return nil }
      return Rest()
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
