// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

extension Link {
  /// - Returns: the serial under which the attachment is known, and the delegate's id.
  func attach(
    _ delegate: any Delegate, to object: String, _ fields: Attach
  ) async throws(TribuneError) -> (serial: Serial, delegate: UInt64) {
    while true {
      let registration = try await request(fields, Message(object: object), isTakenBack: true) {
        (reply: Reply<LinkState.Registration>) in
        .attachment(reply, LinkState.AttachedDelegate(delegate: delegate))
      }
      if case .attached(let serial, let id) = registration { return (serial, id) }
    }
  }

  /// Detaching is done whatever becomes of the task, so that bus and connection go on agreeing.
  func detach(_ attachment: Serial) async throws(TribuneError) {
    let result = await withCheckedContinuation { (reply: Reply<Okay>) in
      do throws(TribuneError) {
        let detached = try state.withLock {
          state throws(TribuneError) -> (tasks: [Task<Void, Never>], duty: Outbox.Duty)? in
          guard state.attachments.removeValue(forKey: attachment) != nil else { return nil }
          try state.requireOpen()
          let serial = state.nextSerial()
          state.requests[serial] = .okay(reply)
          return (
            state.dropQuestions(of: attachment),
            state.outbox.append(Cancel(target: attachment), serial: serial)
          )
        }
        guard let detached else {
          reply.resume(returning: .success(Okay()))
          return
        }
        for task in detached.tasks { task.cancel() }
        perform(detached.duty)
      } catch {
        reply.resume(returning: .failure(error))
      }
    }
    // That the bus has no such thing any more is what was wanted.
    if case .failure(let error) = result, error.code != .notFound { throw error }
  }

  /// Puts a question to its delegate, in a task of its own.
  func receive(_ question: Question, attachment serial: Serial) {
    let key = LinkState.QuestionKey(question)
    let duties = state.withLock { state -> [Outbox.Duty] in
      guard case .open = state.phase, let attached = state.attachments[serial] else { return [] }
      // The bus asks each delegate once in a query; were it to ask again, the first question stands.
      guard state.questions[key] == nil else { return [] }
      guard let delegate = attached.delegate else {
        state.attachments[serial] = nil
        return [
          state.appendAnswer(.abstain, to: key),
          state.appendCancel(serial),
        ]
      }
      let task = Task { [self] in await answer(question, by: delegate) }
      state.questions[key] = LinkState.OpenQuestion(attachment: serial, delegate: delegate, task: task)
      return []
    }
    for duty in duties { perform(duty) }
  }

  private func answer(_ question: Question, by delegate: any Delegate) async {
    let answer: Answer
    do {
      answer = try await delegate.answer(question)
    } catch {
      answer = .failed("\(error)")
    }
    let key = LinkState.QuestionKey(question)
    let duty = state.withLock { state -> Outbox.Duty in
      // Withdrawn meanwhile: the bus does not wait for it any more.
      guard state.questions[key] != nil else { return .none }
      state.questions[key]?.isAnswered = true
      return state.appendAnswer(answer, to: key)
    }
    perform(duty)
  }

  /// A query has ended that one of the delegates was asked in.
  func conclude(_ concluded: Concluded) {
    let key = LinkState.QuestionKey(query: concluded.query, delegate: concluded.delegate)
    guard let question = state.withLock({ $0.questions.removeValue(forKey: key) }) else { return }
    if !question.isAnswered { question.task.cancel() }
    let conclusion = Conclusion(query: concluded.query.rawValue, ending: .init(concluded.conclusion))
    let task = question.task
    let delegate = question.delegate
    Task {
      await task.value
      await delegate?.concluded(conclusion)
    }
  }

  func `defer`(_ question: Question, by span: Duration, status: String) throws(TribuneError) {
    let key = LinkState.QuestionKey(question)
    let payload = status.reasonBytes
    let duty = try state.withLock { state throws(TribuneError) -> Outbox.Duty in
      try state.requireOpen()
      guard let open = state.questions[key], !open.isAnswered else {
        throw TribuneError(.notFound, "nobody waits for an answer to query \(question.query) any more")
      }
      let fields = Defer(
        query: key.query, delegate: key.delegate, extension: Checked.milliseconds(span))
      return state.outbox.append(fields, serial: state.nextSerial(), payload: payload)
    }
    perform(duty)
  }
}

extension LinkState {
  /// Forgets the questions of an attachment that has been taken back.
  mutating func dropQuestions(of attachment: Serial) -> [Task<Void, Never>] {
    var tasks: [Task<Void, Never>] = []
    for (key, question) in questions where question.attachment == attachment {
      questions[key] = nil
      if !question.isAnswered { tasks.append(question.task) }
    }
    return tasks
  }

  mutating func appendAnswer(_ answer: Tribune.Answer, to key: QuestionKey) -> Outbox.Duty {
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

extension String {
  /// As a reason or a status travels.
  fileprivate var reasonBytes: [UInt8] { Array(prefix(utf8Length: WireLimits.reasonLength).utf8) }
}

extension LinkState.QuestionKey {
  init(_ question: Question) {
    query = QueryID(rawValue: question.query)
    delegate = DelegateID(rawValue: question.delegate)
  }
}
