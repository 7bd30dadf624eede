// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

/// A delegate whose answers a person types at the terminal. A `QuestionQueue` orders the questions.
actor TerminalDelegate: Delegate {
  static let timeout = Duration.seconds(60)
  /// The most bytes of a typed line that are read.
  private static let lineLength = 8_192
  private static let userInfoLength = 2_000

  private struct Waiting {
    var question: Question
    let asked = ContinuousClock.now
    var answered: CheckedContinuation<Answer?, Never>
  }

  private let context: Context
  private let log: AnswerLog
  private var questions = QuestionQueue()
  private var waiting: [QuestionQueue.Ticket: Waiting] = [:]
  private var lastTicket = 0

  init(in context: Context, log: AnswerLog) {
    self.context = context
    self.log = log
  }

  func answer(_ question: Question) async -> Answer {
    if question.wantsValue {
      if logsAnswers { log.show(.abstain, to: question) }
      return .abstain
    }
    lastTicket += 1
    let ticket = lastTicket
    let timer = Task {
      await sleep(question.timeout)
      if !Task.isCancelled { withdraw(ticket, .timedOut) }
    }
    let answer = await withTaskCancellationHandler {
      await withCheckedContinuation { put(question, ticket, to: $0) }
    } onCancel: {
      Task { await self.withdraw(ticket, .withdrawn) }
    }
    timer.cancel()
    if let answer { return answer }
    // Another process may have deferred this answer, so only the bus knows whether the time is over. When the
    // bus withdraws the question, the library cancels this task.
    while !Task.isCancelled { await sleep(.seconds(3600)) }
    return .failed("no answer within \(question.timeout.formatted)")
  }

  func received(_ delivery: Delivery) async {
    if logsAnswers {
      log.show(delivery)
    } else if !context.isQuiet {
      perform(questions.show(delivery.line(in: context, userInfoUpTo: UserInfo.delegateLength)))
    }
  }

  func replaced(by delegate: DelegateInfo) async { log.replaced(by: delegate) }

  func readAnswers() async -> CommandError {
    var lines = LineBuffer(limit: Self.lineLength)
    do throws(Errno) {
      while true {
        let bytes = try await StandardInput.read()
        if bytes.isEmpty { break }
        for line in lines.append(bytes) where take(line) { break }
      }
    } catch {
      return .failure("standard input: \(error)")
    }
    if let line = lines.finish() { _ = take(line) }
    return .ended(ExitStatus.success)
  }

  func end() { perform(questions.end()) }

  /// True if the log shows answers. False for text on a terminal, where the typed lines show the answers.
  private var logsAnswers: Bool { !context.terminal.isTerminal || context.writesValues }

  private var now: Duration { .nanoseconds(Int64(clamping: SystemClock.monotonicNanoseconds)) }

  private func put(
    _ question: Question, _ ticket: QuestionQueue.Ticket, to answered: CheckedContinuation<Answer?, Never>
  ) {
    if Task.isCancelled {
      answered.resume(returning: nil)
      return
    }
    waiting[ticket] = Waiting(question: question, answered: answered)
    let now = now
    perform(
      questions.ask(
        .init(
          ticket: ticket, user: question.asker.uid, text: text(of: question), end: now + question.timeout),
        at: now))
  }

  /// - Returns: true if the caller must discard the other lines that came with this line in one read.
  private func take(_ line: [UInt8]) -> Bool {
    let effects = questions.read(String(decoding: line, as: UTF8.self), at: now)
    perform(effects)
    return effects.contains(.discardTyped)
  }

  private func withdraw(_ ticket: QuestionQueue.Ticket, _ why: QuestionQueue.Withdrawal) {
    perform(questions.withdraw(ticket, why, at: now))
    finish(ticket, nil)
  }

  private func finish(_ ticket: QuestionQueue.Ticket, _ answer: Answer?) {
    guard let finished = waiting.removeValue(forKey: ticket) else { return }
    if logsAnswers { log.show(answer, to: finished.question, since: finished.asked) }
    finished.answered.resume(returning: answer)
  }

  private func perform(_ effects: [QuestionQueue.Effect]) {
    for effect in effects {
      switch effect {
      case .show(let text): context.terminal.prompt(text)
      case .prompt: context.terminal.prompt(QuestionQueue.prompt)
      case .discardTyped: StandardInput.discardTyped()
      case .takeBack(let words):
        StandardInput.discardTyped()
        context.terminal.prompt(
          (context.terminal.errorTakesControls ? "\r\u{1B}[2K  " : "\n  ") + words + "\n")
      case .answer(let ticket, let answer): finish(ticket, answer)
      }
    }
  }

  private func text(of question: Question) -> String {
    let asker = question.asker
    let line = question.userInfo.line
    let userInfo = line.count > Self.userInfoLength ? line.prefix(Self.userInfoLength) + "…" : line[...]
    let what = [question.name.terminalSafe, question.object.terminalSafe, String(userInfo)]
    let name = asker.process.isEmpty ? "a process" : asker.process.terminalSafe
    var parts = ["pid \(asker.pid)", "uid \(asker.uid)"]
    if asker.units != Units() { parts.append(asker.units.description.terminalSafe) }
    let dryRun = question.isDryRun ? "; a dry run: no action will follow" : ""
    return """
      \(what.filter { !$0.isEmpty }.joined(separator: "  "))
        asked by \(name) (\(parts.joined(separator: ", ")), connection \(asker.connection))\(dryRun)

      """
  }
}
