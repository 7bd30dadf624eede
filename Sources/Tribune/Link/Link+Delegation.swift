// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

/// Questions to delegates, their answers, and notifications to delegates.
extension Link {
  /// Queues a question for its delegate, which gets it in a task of its own.
  func receive(_ question: Question, attachment serial: Serial) {
    let key = LinkState.QuestionKey(question)
    let (action, delegate) = state.withLock { state -> (LinkState.Action, (any Delegate)?) in
      guard state.isServing, let attached = state.registrations[serial]?.attached else { return (.none, nil) }
      // The bus asks each delegate once in a query. If it asked again, the first question would stand.
      guard state.questions[key] == nil else { return (.none, nil) }
      guard let delegate = attached.delegate else {
        let duty = state.appendAnswer(.abstain, to: key)
        // It goes with the answer, or after whatever the answer waits for.
        _ = state.dropAttachment(serial)
        return (.send(duty), nil)
      }
      let open = OpenQuestion(
        question, to: delegate, through: attached, serial: serial, number: attached.noteQuestion())
      state.questions[key] = open
      return (.work(.question(open)), delegate)
    }
    perform(action)
    // This may be the last reference, and what it ends may use this link: not while the lock is held.
    withExtendedLifetime(delegate) {}
  }

  /// Sends a delegate's answer to the bus.
  func answer(_ open: OpenQuestion, _ answer: Answer) {
    let key = LinkState.QuestionKey(open.question)
    let duty = state.withLock { state -> Outbox.Duty in
      // Withdrawn meanwhile: the bus does not wait for it any more.
      guard state.questions[key] === open else { return .none }
      open.noteAnswer()
      return state.appendAnswer(answer, to: key)
    }
    perform(duty)
  }

  /// Handles the end of a query in which a delegate was asked.
  func conclude(_ concluded: Concluded) {
    let key = LinkState.QuestionKey(query: concluded.query, delegate: concluded.delegate)
    guard let open = state.withLock({ $0.questions.removeValue(forKey: key) }) else { return }
    work.withLock { $0.append(.conclusion(open, .init(concluded.conclusion))) }
  }

  func `defer`(_ question: Question, by span: Duration, status: String) throws(TribuneError) {
    let key = LinkState.QuestionKey(question)
    let payload = status.reasonBytes
    let duty = try state.withLock { state throws(TribuneError) -> Outbox.Duty in
      try state.requireOpen()
      // Another bus may use the same ids for other queries.
      guard question.epoch == epoch.load(ordering: .relaxed), let open = state.questions[key],
        !open.isAnswered
      else {
        throw TribuneError(.notFound, "nobody waits for an answer to query \(question.query) any more")
      }
      let fields = Defer(
        query: key.query, delegate: key.delegate, extension: Checked.milliseconds(span))
      return state.outbox.append(fields, serial: state.nextSerial(), payload: payload)
    }
    perform(duty)
  }

  /// Delivers to these delegates, and takes back the attachments of those that are deallocated.
  func deliver(_ delivery: Delivery, to delegates: [AttachedDelegate]) {
    tell(delegates) { $0.deliver(delivery) }
  }

  /// - Parameter tell: returns whether the delivering task must be started.
  func tell(_ delegates: [AttachedDelegate], _ tell: (AttachedDelegate) -> Bool) {
    for attached in delegates {
      if attached.delegate != nil {
        if tell(attached) { work.withLock { $0.append(.news(attached)) } }
      } else {
        let duty = state.withLock { state -> Outbox.Duty in
          let serial = state.registrations.first { $0.value.attached === attached }?.key
          return serial.map { state.dropAttachment($0) } ?? .none
        }
        routesVersion.add(1, ordering: .releasing)
        perform(duty)
      }
    }
  }
}

extension LinkState {
  struct QuestionKey: Hashable {
    var query: QueryID
    var delegate: DelegateID
  }

  /// Delegates that receive a notification.
  func receivers(name: String, object: String) -> [AttachedDelegate] {
    guard !registrations.isEmpty, NameSyntax.isWillOrDid(name.utf8Bytes) else { return [] }
    return allReceivers.filter { $0.receives(name: name, object: object) }
  }

  /// Delegates that receive notifications at all.
  var allReceivers: [AttachedDelegate] {
    registrations.values.compactMap(\.attached).filter(\.receivesNotifications)
  }

  /// Takes back the attachment of a delegate that is deallocated.
  fileprivate mutating func dropAttachment(_ serial: Serial) -> Outbox.Duty {
    registrations[serial] = nil
    registered[serial] = nil
    // The bus does not report to it any more how its queries end, and there is nobody to tell.
    _ = takeQuestions(of: serial)
    return appendCancel(serial)
  }

  fileprivate mutating func appendAnswer(_ answer: Tribune.Answer, to key: QuestionKey) -> Outbox.Duty {
    var (kind, payload): (AnswerKind, [UInt8]) =
      switch answer {
      case .approve: (.approve, [])
      case .veto(let reason): (.veto, reason.reasonBytes)
      case .abstain: (.abstain, [])
      case .failed(let error): (.failed, error.reasonBytes)
      case .value(let value): (.value, value.bytes)
      }
    if payload.count > payloadMax {
      let error = "a value of \(payload.count) bytes is over the bus's limit of \(payloadMax)"
      (kind, payload) = (.failed, error.reasonBytes)
    }
    return outbox.append(
      TribuneWire.Answer(query: key.query, delegate: key.delegate, answer: kind), serial: nextSerial(),
      payload: payload)
  }
}

extension LinkState.QuestionKey {
  fileprivate init(_ question: Question) {
    query = QueryID(rawValue: question.query)
    delegate = DelegateID(rawValue: question.delegate)
  }
}
