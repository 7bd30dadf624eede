// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneServer
import TribuneTestSupport
import TribuneWire

extension Life {
  func question(_ question: Question, _ frame: FrameView, _ link: Link) {
    guard let number = number(frame, link), let query = queries.first(where: { $0.number == number }) else {
      return violate("link \(link.number) was asked what nobody asks")
    }
    check(!query.mustRecur, "link \(link.number) was asked query \(number), which is nested in itself")
    let id = question.query.rawValue
    check(query.id == 0 || query.id == id, "query \(number) has two ids")
    setID(id, of: query, link)
    guard let registration = link.registration(frame.header.serial), registration.isDelegate else {
      return violate("link \(link.number) was asked under \(frame.header.serial), which is no delegate")
    }
    check(
      frame.name.array.elementsEqual(query.name.utf8) && frame.object.array.elementsEqual(query.object.utf8)
        && (query.link.id == 0 || frame.header.sender.rawValue == query.link.id)
        && (registration.id == 0 || question.delegate.rawValue == registration.id)
        && question.isDryRun == query.flags.contains(.isDryRun)
        && question.wantsValue == query.mode.isForValues,
      "r\(registration.number) was asked query \(number), and not as it was asked")
    check(
      Kernel.now + UInt64(question.timeout) * 1_000_000 >= query.due(of: registration),
      "r\(registration.number) was given \(question.timeout) ms for query \(number), and has more")
    check(
      query.holds.isEmpty && !query.lacksRequired || query.mode == .all || query.flags.contains(.overrides),
      "r\(registration.number) was asked query \(number), which was vetoed before")
    let isInChain = query.delegates.contains { $0 === registration }
    let mayBe = query.possibleDelegates.contains { $0 === registration }
    check(isInChain || mayBe, "r\(registration.number) was asked query \(number), and is not in its chain")
    if isInChain, query.mode.isSequential {
      for earlier in query.delegates where earlier.place < registration.place && isCertain(earlier) {
        check(
          Kernel.now >= query.due(of: earlier)
            || query.answers.contains { $0.question.registration === earlier },
          "r\(registration.number) was asked query \(number) before r\(earlier.number) was done")
      }
    }
    check(
      !link.questions.contains { $0.query === query && $0.registration === registration },
      "r\(registration.number) was asked query \(number) twice")
    link.questions.append(
      AskedQuestion(query: query, registration: registration, delegate: question.delegate.rawValue))
  }

  private func setID(_ id: UInt64, of query: Query, _ link: Link) {
    let key = id | link.epoch << 48
    check(queryIDs[key] == nil || queryIDs[key] === query, "the query's id \(id) was given before")
    queryIDs[key] = query
    query.id = id
  }

  func concluded(_ concluded: Concluded, _ serial: Serial, _ link: Link) {
    guard
      let question = link.questions.first(where: {
        $0.query.id == concluded.query.rawValue && $0.registration.serial == serial
      })
    else { return violate("link \(link.number) heard how a query ended that it was not asked") }
    check(
      question.conclusion == nil,
      "link \(link.number) heard twice how query \(question.query.number) ended")
    question.conclusion = concluded.conclusion
    question.query.isOver = true
    question.isAnswered = true
  }

  func ended(_ serial: Serial, _ ended: Ended, _ link: Link) {
    guard let registration = link.registration(serial) else {
      return violate("link \(link.number) was told of the end of what it has not registered")
    }
    switch (ended, registration.what) {
    case (.expired, .hold):
      check(
        registration.mayHaveExpired, "the hold r\(registration.number) has expired before its time")
    case (.replaced(let successor), .delegate):
      check(
        known.flatMap(\.registrations).contains {
          $0.label == successor.delegate.label && $0.canReplace(registration)
            && $0 !== registration && mayReplace(registration, by: $0.link)
        }, "r\(registration.number) was ended by \(successor.delegate.label), which is not set in its place")
    case (.notPermitted, _):
      check(registration.mayBeEndedByPolicy, "r\(registration.number) was ended, and the policy allows it")
    default: violate("r\(registration.number) was ended, and cannot be: \(ended)")
    }
    forget(registration)
  }

  func verdict(_ verdict: Verdict, _ serial: Serial, _ link: Link) {
    counts.verdicts += 1
    guard let operation = reply(serial, link) else { return }
    guard case .ask(let query) = operation.what else {
      return violate("link \(link.number) was told a verdict on \(serial), which is no query")
    }
    setID(verdict.query.rawValue, of: query, link)
    query.verdict = verdict
    query.isOver = true
    check(!query.mustRecur, "query \(query.number) has a verdict, and is nested in itself, or too deeply")
    tell(
      "  of query \(query.number): \(verdict.verdict) \(verdict.outcomes.map { "\($0.delegate.label) \($0.outcome) \($0.reason)" })"
    )
    judge(query, verdict)
    if query.flags.contains(.begins), verdict.verdict == .allowed { begin(query, link) }
  }

  func progress(_ progress: Progress, _ serial: Serial, _ link: Link) {
    guard let query = queries.first(where: { $0.link === link && $0.serial == serial }) else {
      return violate("link \(link.number) hears of the progress of what it did not ask")
    }
    check(
      progress.stage == .deferred || query.flags.contains(.wantsProgress),
      "link \(link.number) hears more of query \(query.number) than it wants")
    check(
      query.verdict == nil
        && (progress.stage == .deferred
          || !query.progress.contains {
            $0.stage == progress.stage && $0.delegate.label == progress.delegate.label
          }),
      "link \(link.number) hears once more of query \(query.number)")
    check(
      progress.stage != .deferred || progress.timeout <= query.deadline,
      "\(progress.delegate.label) has more time than query \(query.number)")
    query.progress.append(progress)
  }

  /// The bus reports each outcome before the verdict, if the asker wants progress and reads.
  func judgeProgress(_ query: Query, _ verdict: Verdict) {
    guard query.flags.contains(.wantsProgress), query.link.blockedAt < query.takenAt else { return }
    let said: [OutcomeKind] = [.approved, .vetoed, .abstained, .answered]
    for outcome in verdict.outcomes
    where said.contains(outcome.outcome) && outcome.delegate.label != Self.requiredLabel {
      check(
        query.progress.contains {
          $0.delegate.label == outcome.delegate.label && $0.stage == .settled && $0.outcome == outcome.outcome
        }, "query \(query.number): nobody was told meanwhile of \(outcome.delegate.label)")
    }
  }

  func awaited(_ awaited: Awaited, _ serial: Serial, _ link: Link) {
    guard let operation = reply(serial, link) else { return }
    guard case .post(let post) = operation.what, post.options.contains(.awaited) else {
      return violate("link \(link.number) was told who is done with \(serial), which it did not await")
    }
    let dones = post.dones.filter { !$0.isRefused }
    let missing = Set(awaited.missing.map(\.connection.rawValue))
    let gone = Set(awaited.missing.filter { $0.failure == .gone }.map(\.connection.rawValue))
    for done in dones
    // Without its observation, the bus refuses what the client says, and the client may not have read that yet.
    where !(gone.contains(done.link.id) && hasStoppedAwaiting(post, done.link)) && done.certainty == .certain
      && done.link.id != 0
      && (done.takenBy < post.due
        || !isSlow && !done.wasHidden && done.link.detachedUntil == nil && done.sentTime < post.due)
    {
      guard case .done(_, let hasFailed) = done.what else { continue }
      check(
        hasFailed || !missing.contains(done.link.id),
        "link \(done.link.number) is done with post \(post.number), and that is not known")
    }
    check(
      Kernel.now >= post.due || !awaited.missing.contains { $0.failure == .timedOut },
      "post \(post.number) was given up before its time")
    acknowledged.append((post, awaited.acknowledged))
    let most = dones.count { if case .done(_, let hasFailed) = $0.what { !hasFailed } else { false } }
    check(
      awaited.acknowledged <= UInt32(most),
      "\(awaited.acknowledged) are done with post \(post.number), and \(most) have said so")
  }

  private func hasStoppedAwaiting(_ post: Posting, _ link: Link) -> Bool {
    link.registrations.contains {
      $0.isAwaited && $0.isFor(post.name, post.object) && $0.goneAt > post.takenAt && $0.goneAt < .max
    }
  }

  private func judgeWhole(_ query: Query, _ verdict: Verdict, isAnswered: Bool) {
    let title = "query \(query.number)"
    check(verdict.isUnanswered == !isAnswered, "\(title) is unanswered, or is not")
    check(verdict.isDryRun == query.flags.contains(.isDryRun), "\(title) is a dry run, or is not")
    if query.mode.isForValues {
      check(verdict.verdict == (isAnswered ? .allowed : .vetoed), "\(title) for values is \(verdict.verdict)")
    }
    let listed = query.holds.count { hold in
      verdict.outcomes.contains { $0.outcome == .held && hold.mayHaveHad($0.reason) }
    }
    check(
      query.holds.count - listed <= Int(verdict.omittedCount),
      "\(title) lists \(listed) of \(query.holds.count) holds, and omits \(verdict.omittedCount)")
    check(
      !query.lacksRequired || verdict.outcomes.contains { $0.delegate.label == Self.requiredLabel },
      "\(title) does not list the delegate that is required")
  }

  /// A delegate's answer is still valid: the delegate has not learned the end of the query, and it has time.
  func isWaited(for question: AskedQuestion) -> Bool {
    question.conclusion == nil && question.registration.certainty == .certain
      && Kernel.now < question.query.due(of: question.registration)
  }

  /// The bus waits for a delegate whose user's time is spent in at most this many rounds. A round lasts at least 10 ms,
  /// and longer if the clock jumps.
  private static let roundsMax = 102

  private func lastRound(from overdue: UInt64) -> UInt64 {
    var (rounds, end) = (0, overdue)
    for check in checks where check >= end {
      rounds += 1
      if rounds > Self.roundsMax { return check }
      end = check + 10_000_000
    }
    return .max
  }

  /// The bus looks at its deadlines only then, and the clock can jump in between.
  private func firstCheck(from time: UInt64) -> UInt64 {
    checks[((checks.lastIndex { $0 < time } ?? -1) + 1)...].first ?? .max
  }

  /// A delegate's answer was readable in its socket in time.
  private func lies(_ delegate: Registration, in query: Query, before end: UInt64) -> Bool {
    let link = delegate.link
    guard !isSlow, delegate.certainty == .certain, link.detachedUntil == nil else { return false }
    return link.operations.contains { operation in
      guard case .answer(let question, _) = operation.what, question.query === query,
        question.registration === delegate
      else { return false }
      return operation.certainty == .certain && operation.sentTime < end && !operation.wasHidden
    }
  }

  /// Holds that may have been taken while the question was open.
  private func lateHolds(against query: Query) -> [Registration] {
    guard !query.mode.isForValues else { return [] }
    return known.flatMap(\.registrations).filter {
      $0.isHold && $0.refusal == nil && $0.takenAt > query.takenAt && $0.isFor(query.name, query.object)
    }
  }

  /// The bus took these answers before the verdict.
  private func judge(
    _ lateHolds: [Registration], _ query: Query, _ verdict: Verdict, _ heard: [Registration]
  ) {
    let answered = query.answers.filter { answer in
      answer.operation.certainty == .certain && !answer.operation.isRefused
        && heard.contains { $0 === answer.question.registration }
        && !verdict.outcomes.contains {
          $0.delegate.label == answer.question.registration.label
            && [.timedOut, .gone].contains($0.outcome)
        }
    }
    guard verdict.verdict == .allowed, !verdict.isOverridden,
      let last = answered.map(\.operation.takenAt).max()
    else { return }
    for hold in lateHolds
    where hold.takenAt < last && isCertain(hold) && claims(of: query, before: hold).isEmpty {
      violate("query \(query.number) was allowed against r\(hold.number), which was taken meanwhile")
    }
  }

  func judge(_ query: Query, _ verdict: Verdict) {
    judgeProgress(query, verdict)
    judgeSlots(of: query, verdict)
    let title = "query \(query.number)"
    let isForLeave = !query.mode.isForValues
    let overrides = query.flags.contains(.overrides)
    if isForLeave, !query.holds.isEmpty {
      check(
        verdict.verdict == .vetoed || verdict.isOverridden,
        "\(title) was allowed against the hold r\(query.holds[0].number)")
    }
    /// Vetoes of holds and of missing required delegates, then those of delegates.
    var standing = 0
    var vetoes = 0
    var consents = 0
    var heard: [Registration] = []
    let lateHolds = lateHolds(against: query)
    if query.lacksRequired {
      check(
        verdict.verdict == .vetoed || verdict.isOverridden,
        "\(title) was allowed without the delegate that is required")
    }
    for outcome in verdict.outcomes {
      if outcome.delegate.label == Self.requiredLabel {
        check(query.lacksRequired, "\(title) lacks a delegate that is not required")
        standing += 1
        continue
      }
      if outcome.isOfAction {
        standing += 1
        continue
      }
      if outcome.outcome == .held {
        let holds =
          query.holds + query.possibleHolds + lateHolds
          + query.passedHolds.filter { !isPassed($0, by: query) }
        check(
          holds.contains { $0.mayHaveHad(outcome.reason) },
          "\(title) met \(outcome.reason), which did not stand"
        )
        standing += 1
        continue
      }
      guard
        let registration = (query.delegates + query.possibleDelegates).first(where: {
          $0.label == outcome.delegate.label
        })
      else {
        violate("\(title) has an outcome of \(outcome.delegate.label), which was not in its chain")
        continue
      }
      check(!heard.contains { $0 === registration }, "\(title) has two outcomes of r\(registration.number)")
      heard.append(registration)
      guard case .delegate(_, let policy, _, _) = registration.what else { continue }
      let answers = query.answers.filter { $0.question.registration === registration }
      let said = answers.map(\.answer)
      if outcome.outcome == .answered || outcome.outcome == .vetoed, !setting.isTight {
        let text =
          outcome.outcome == .vetoed ? outcome.reason : String(decoding: outcome.value, as: UTF8.self)
        check(
          answers.contains { $0.question.text == text },
          "\(title): r\(registration.number) has not said \"\(text)\"")
      }
      if [.approved, .vetoed, .abstained, .answered].contains(outcome.outcome) {
        let overdue = firstCheck(from: query.dueLatest)
        let ended = overdue == .max ? .max : lastRound(from: overdue)
        check(
          answers.contains { $0.operation.sentTime <= ended },
          "\(title): the answer of r\(registration.number) came after the deadline, and counts")
      }
      switch outcome.outcome {
      case .approved:
        check(said.contains(.approve), "\(title): r\(registration.number) has not approved")
        consents += 1
      case .vetoed:
        check(said.contains(.veto), "\(title): r\(registration.number) has not vetoed")
        vetoes += 1
      case .abstained: check(said.contains(.abstain), "\(title): r\(registration.number) has not abstained")
      case .answered:
        check(said.contains(.value), "\(title): r\(registration.number) has given no value")
        consents += 1
      case .timedOut:
        let end = query.due(of: registration)
        check(Kernel.now >= end, "\(title): r\(registration.number) had more time")
        check(
          !answers.contains {
            $0.operation.certainty == .certain && !$0.operation.isRefused && $0.operation.takenBy < end
          } && !lies(registration, in: query, before: end),
          "\(title): r\(registration.number) has answered in time")
        if !query.mode.isSequential {
          check(
            query.takenTime + (outcome.elapsed + 1) * 1000 >= end,
            "\(title): r\(registration.number) was waited for \(outcome.elapsed) µs, and had more time")
        }
        if policy == .veto { vetoes += 1 }
      case .gone:
        check(
          registration.certainty != .certain || (registration.link.detachedUntil ?? .max) <= Kernel.now,
          "\(title): r\(registration.number) is not gone")
        check(
          setting.isTight || registration.certainty != .gone || registration.wasInDoubt
            || !answers.contains {
              $0.operation.certainty == .certain && !$0.operation.isRefused
                && $0.operation.takenAt < registration.goneAt
                && $0.operation.takenBy < query.due(of: registration)
            }, "\(title): r\(registration.number) had answered before it was gone")
        if policy == .veto { vetoes += 1 }
      case .failed:
        let unfit: [AnswerKind] = isForLeave ? [.failed, .value] : [.failed]
        check(
          setting.isTight || said.contains { unfit.contains($0) },
          "\(title): r\(registration.number) has not failed: \(outcome.reason)")
        if policy == .veto { vetoes += 1 }
      case .held: break
      }
    }
    judge(lateHolds, query, verdict, heard)
    let omitted = Int(verdict.omittedCount)
    check(
      omitted == 0 || setting.configuration.outcomeIdentitiesMax < BusLimits().outcomeIdentitiesMax,
      "\(title) omits \(omitted) outcomes without need")
    let places = heard.filter { one in query.delegates.contains { $0 === one } }.map(\.place)
    check(
      zip(places, places.dropFirst()).allSatisfy { $0 < $1 },
      "\(title) has outcomes in another order than that of its chain")
    let hasValue = verdict.outcomes.contains { $0.outcome == .answered }
    // An override ignores standing vetoes; only the rest decides.
    let counted = overrides ? vetoes : standing + vetoes
    let isOverridden = overrides && standing + vetoes > 0 && verdict.verdict == .allowed
    let isAnswered = isForLeave ? counted + consents > 0 || isOverridden : hasValue
    // Vetoes are listed first, so only approvals can all be omitted.
    let isUnknown = isForLeave && omitted > 0 && counted + consents == 0
    judgeWhole(query, verdict, isAnswered: isUnknown ? !verdict.isUnanswered : isAnswered)
    if isForLeave {
      check(verdict.isOverridden == isOverridden, "\(title) is overridden or not")
      let decided: VerdictKind =
        if !overrides, counted > 0 { .vetoed } else { counted + consents > 0 ? .allowed : query.fallback }
      check(isUnknown || verdict.verdict == decided, "\(title) has a verdict that nobody gave")
      // After the first veto, the query does not wait for others, unless all must answer.
      if counted > 0, query.mode != .all, !overrides { return }
    } else if query.mode != .collect, hasValue {
      return
    }
    let unheard = query.delegates.filter { one in !heard.contains { $0 === one } }
    check(unheard.count <= omitted, "\(title) has not heard r\(unheard.first?.number ?? 0)")
  }
}
