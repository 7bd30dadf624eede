// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tribune

/// A program in Python, one in C, one that speaks Varlink, and this one ask and veto each other.
///
/// Each is the delegate of one name, such as `c.shouldAct`, prints `ready`, and vetoes odd numbers. It reads how many
/// questions to ask, asks the others in turn, and prints `asked`. Other lines: `answer ASKER NUMBER` before each
/// answer, `verdict DELEGATE NUMBER [REASON]` for each verdict.
@Suite("Programs in several languages", .timeLimit(.minutes(15)))
struct PartiesTests {
  private static let names = ["python", "c", "varlink", "swift"]
  private static let questionsPerRound = 300

  private let bus: RestartedBus
  private let environment: [String: String]

  init() throws {
    bus = try RestartedBus.withVarlink()
    environment = [
      "TRIBUNE_ADDRESS": bus.bus.address, "TRIBUNE_VARLINK": "unix:\(bus.varlinkPath)",
    ]
  }

  @Test("ask and veto each other with an even account while the bus is restarted and killed")
  func account() async throws {
    let programs = try Self.names.dropLast().map { name in try start(name) }
    let party = SwiftParty()
    let connection = try await bus.bus.connect()
    try await connection.attach(party, respondingTo: ["swift.shouldAct"], label: "swift")
    for program in programs { #expect(try program.nextLine() == "ready") }

    var lines = [[String]](repeating: [], count: programs.count)
    for way in [nil, .planned, .crash] as [RestartedBus.Way?] {
      if way == .crash { await party.stopAfterSomeAnswers() }
      for program in programs { try program.type("\(Self.questionsPerRound)") }
      async let asking: Void = party.ask(Self.questionsPerRound, on: connection)
      switch way {
      case nil: break
      case .crash:
        // Kill the bus only while every program waits for this one: a connection with a frame under way might have to
        // reconnect, which these programs do not.
        while await !party.isWaitedFor(by: programs.count) { _ = try await connection.own() }
        defer { Task { await party.goOn() } }
        try bus.restart(.crash)
      case let way?:
        while lines[0].count(where: { $0.hasPrefix("verdict") }) % Self.questionsPerRound < 20 {
          lines[0].append(try programs[0].nextLine())
        }
        try bus.restart(way)
      }
      for (place, program) in programs.enumerated() {
        while lines[place].last != "asked" { lines[place].append(try program.nextLine()) }
        lines[place].removeLast()
      }
      try await asking
    }
    for (place, program) in programs.enumerated() {
      program.end(SIGKILL)
      lines[place] += try program.output.rest().split(separator: "\n").map { String($0) }
      #expect(try program.errors.rest() == "")
    }
    lines.append(await party.lines)

    let account = Account(lines: zip(Self.names, lines))
    #expect(account.verdicts.count == Self.names.count * 3 * Self.questionsPerRound)
    #expect(account.verdicts.count == lines.joined().count { $0.hasPrefix("verdict") })
    #expect(account.answers.count == lines.joined().count { $0.hasPrefix("answer") })
    #expect(account.answers.symmetricDifference(account.verdicts.keys).isEmpty)
    for (question, reason) in account.verdicts {
      #expect(
        reason == (question.number % 2 == 0 ? "" : "\(question.delegate) vetoes \(question.number)"),
        "\(question)")
    }
  }

  private func start(_ name: String) throws -> RunningProgram {
    let others = Self.names.filter { $0 != name }
    if name == "c" {
      let program = "\(bus.folder.path)/party"
      try OtherLanguages.compile(Self.source("party.c"), to: program)
      return try RunningProgram([program] + others, environment: environment, input: Pipe())
    }
    return try OtherLanguages.python(
      Self.source(name == "python" ? "party.py" : "varlink_party.py"), others, environment: environment,
      input: Pipe())
  }

  private static func source(_ file: String) -> String {
    Script.repository.appending(path: "Tests/Integration/Languages/\(file)").path
  }

  private struct Account {
    struct Question: Hashable {
      var asker, delegate: String
      var number: Int
    }

    var verdicts: [Question: String] = [:]
    var answers: Set<Question> = []

    init(lines: some Sequence<(String, [String])>) {
      for (name, lines) in lines {
        for line in lines {
          let words = line.split(separator: " ", maxSplits: 3).map { String($0) }
          guard words.count >= 3, let number = Int(words[2]) else { continue }
          if words[0] == "answer" {
            answers.insert(Question(asker: words[1], delegate: name, number: number))
          } else {
            let question = Question(asker: name, delegate: words[1], number: number)
            verdicts[question] = words.count > 3 ? words[3] : ""
          }
        }
      }
    }
  }
}

private actor SwiftParty: Delegate {
  private struct Matter: Codable {
    var asker: String
    var number: Int
  }

  private(set) var lines: [String] = []
  private var number = 0
  private var answersLeft: Int?
  private var isBetweenQuestions = true
  private var waitingAnswers: [CheckedContinuation<Void, Never>] = []
  private var waitingQuestion: CheckedContinuation<Void, Never>?

  /// Then it neither answers nor asks until `goOn`. The others still have questions by then.
  func stopAfterSomeAnswers() { answersLeft = 40 }

  func isWaitedFor(by count: Int) -> Bool { waitingAnswers.count == count && isBetweenQuestions }

  func goOn() {
    answersLeft = nil
    for answer in waitingAnswers { answer.resume() }
    waitingAnswers = []
    waitingQuestion?.resume()
    waitingQuestion = nil
  }

  func answer(_ question: Question) async -> Answer {
    if let left = answersLeft {
      if left == 0 { await withCheckedContinuation { waitingAnswers.append($0) } }
      answersLeft = answersLeft.map { max($0 - 1, 0) }
    }
    guard let matter = try? JSONDecoder().decode(Matter.self, from: Data(question.userInfo.bytes)) else {
      return .veto("it cannot be read")
    }
    lines.append("answer \(matter.asker) \(matter.number)")
    return matter.number % 2 == 0 ? .approve : .veto("swift vetoes \(matter.number)")
  }

  func ask(_ count: Int, on connection: Connection) async throws {
    for _ in 0..<count {
      if answersLeft == 0 { await withCheckedContinuation { waitingQuestion = $0 } }
      isBetweenQuestions = false
      defer { isBetweenQuestions = true }
      let other = ["c", "varlink", "python"][number % 3]
      let verdict = try await connection.ask(
        "\(other).shouldAct", userInfo: UserInfo("{\"asker\":\"swift\",\"number\":\(number)}"))
      let reasons = verdict.outcomes.map(\.reason).filter { !$0.isEmpty }
      lines.append((["verdict", other, "\(number)"] + reasons).joined(separator: " "))
      number += 1
    }
  }
}
