// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

extension Link {
  func deferAnswer(to question: Question, by span: Duration, status: String) throws(TribuneError) {
    let payload = status.reasonBytes
    let duty = try state.withLock { state throws(TribuneError) in
      try state.deferAnswer(to: question, by: Checked.milliseconds(span), status: payload)
    }
    perform(duty)
  }

  func detachDeallocated() {
    let duties = state.withLock { $0.dropDeallocated() }
    if !duties.isEmpty { routesVersion.add(1, ordering: .releasing) }
    for duty in duties { perform(duty) }
  }

  func deliver(_ delivery: Delivery, to delegates: [AttachedDelegate]) {
    scheduleDeliveries(to: delegates) { $0.deliver(delivery) }
  }

  /// Enqueues a delivery for each delegate, and detaches deallocated delegates. `enqueue` returns true if the
  /// link must start the delegate's delivering task.
  func scheduleDeliveries(to delegates: [AttachedDelegate], _ enqueue: (AttachedDelegate) -> Bool) {
    for attached in delegates {
      if attached.delegate != nil {
        if enqueue(attached) { work.withLock { $0.append(.deliveries(attached)) } }
      } else {
        detachDeallocated()
      }
    }
  }
}

extension LinkState {
  struct QuestionKey: Hashable {
    var query: QueryID
    var delegate: DelegateID
  }

  func receivers(name: String, object: String) -> [AttachedDelegate] {
    guard NameSyntax.isWillOrDid(name.utf8Bytes) else { return [] }
    return allReceivers.filter { $0.receives(name: name, object: object) }
  }

  var allReceivers: [AttachedDelegate] {
    entries.values.compactMap(\.attached).filter(\.receivesNotifications)
  }

  /// Receives a question. The caller must release the returned delegate after unlocking, because the
  /// delegate's deinitializer can use the link.
  mutating func receive(
    _ question: Question, attachment serial: Serial
  ) -> (action: Action, delegate: (any Delegate)?) {
    let key = QuestionKey(question)
    // The bus asks each delegate once in a query, so a second question is ignored.
    guard isServing, let attached = entries[serial]?.attached, questions[key] == nil else {
      return (.none, nil)
    }
    guard let delegate = attached.delegate else {
      let duty = appendAnswer(.abstain, to: key)
      // `dropAttachment` appends a `cancel` behind the answer. The caller's `duty` writes both frames.
      _ = dropAttachment(serial)
      return (.send(duty), nil)
    }
    let open = OpenQuestion(
      question, to: delegate, through: attached, serial: serial, number: attached.numberQuestion())
    questions[key] = open
    return (.work(.question(open)), delegate)
  }

  mutating func answer(_ open: OpenQuestion, _ answer: Tribune.Answer) -> Outbox.Duty {
    let key = QuestionKey(open.question)
    guard questions[key] === open else { return .none }
    open.markAnswered()
    return appendAnswer(answer, to: key)
  }

  mutating func conclude(_ concluded: Concluded) -> Action {
    let key = QuestionKey(query: concluded.query, delegate: concluded.delegate)
    guard let open = questions.removeValue(forKey: key) else { return .none }
    return .work(.conclusion(open, .init(concluded.conclusion)))
  }

  /// - Parameter extensionTime: the new time for the answer, in milliseconds from now.
  mutating func deferAnswer(
    to question: Question, by extensionTime: UInt32, status: [UInt8]
  ) throws(TribuneError) -> Outbox.Duty {
    try requireOpen()
    let key = QuestionKey(question)
    // After an interruption, a new bus can use the same ids for other queries.
    guard question.epoch == epoch, let open = questions[key], !open.isAnswered else {
      throw TribuneError(.notFound, "query \(question.query) does not wait for this answer")
    }
    return outbox.append(
      Defer(query: key.query, delegate: key.delegate, extension: extensionTime), .init(payload: status),
      serial: nextSerial())
  }

  mutating func dropDeallocated() -> [Outbox.Duty] {
    let dead = entries.filter { $0.value.attached.map { $0.delegate == nil } ?? false }
    return dead.keys.sorted().map { dropAttachment($0) }
  }

  private mutating func dropAttachment(_ serial: Serial) -> Outbox.Duty {
    removeRegistration(serial)
    // The bus reports ends of queries only to attached delegates, so the link forgets these questions.
    _ = takeQuestions(of: serial)
    return appendCancel(serial)
  }

  private mutating func appendAnswer(_ answer: Tribune.Answer, to key: QuestionKey) -> Outbox.Duty {
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
      TribuneWire.Answer(query: key.query, delegate: key.delegate, answer: kind), .init(payload: payload),
      serial: nextSerial())
  }
}

extension LinkState.QuestionKey {
  fileprivate init(_ question: Question) {
    query = QueryID(rawValue: question.query)
    delegate = DelegateID(rawValue: question.delegate)
  }
}
