// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneSystem

extension CommandRunner {
  /// Runs the command for a question. Cancelling the task ends the command. Only the bus limits the command's
  /// time. `tribunectl defer` can extend this time.
  func answer(_ question: Question, by command: [[UInt8]]) async -> Answer {
    // One byte more than the limit is captured, to recognize a value that is too long.
    let limit = question.wantsValue ? valueLength + 1 : Self.reasonLength
    let run = await run(
      command, for: question.asker.uid, setting: Self.variables(of: question), input: question.userInfo,
      output: .captured(limit: limit))
    switch run {
    case .ending: return .failed("the delegate is shutting down")
    case .tooMany(let count):
      return .failed("\(count) questions of user \(question.asker.uid) wait for commands, which is the limit")
    case .tooLong:
      return .failed(
        "the questions of user \(question.asker.uid) that have commands or wait for them are too long together"
      )
    case .withdrawn: return .failed("the question was withdrawn")
    case .cannotStart(let error):
      let message = error.message(starting: command)
      reportOnce(message.terminalSafe)
      return .failed(message)
    case .ended(let ending) where question.wantsValue && ending.termination == .exited(0):
      return Self.value(in: ending.output, upTo: valueLength)
    case .ended(let ending): return Self.answer(for: ending)
    }
  }

  func conclude(
    _ ending: Conclusion.Ending, of user: UInt32, setting variables: [(name: String, value: String?)],
    by program: [UInt8]
  ) async {
    let run = await run(
      [program], for: user, setting: variables + [("TRIBUNE_ENDING", ending.rawValue)], input: .none,
      output: .captured(limit: 0), isOwed: true)
    switch run {
    case .ended(let ending) where ending.termination == .exited(ExitStatus.success): break
    case .ended(let ending):
      reportOnce("\(String(decoding: program, as: UTF8.self).terminalSafe) \(ending.termination.formatted)")
    case .cannotStart(let error): reportOnce(error.message(starting: [program]).terminalSafe)
    case .ending, .tooMany, .tooLong, .withdrawn: preconditionFailure("a program that is owed was refused")
    }
  }

  static func answer(for ending: ChildProcess.Ending) -> Answer {
    switch ending.termination {
    case .exited(ExitStatus.success): return .approve
    case .exited(ExitStatus.vetoed):
      // For a value query, more output is captured than a reason can have, so the reason is cut.
      return .veto(String(decoding: ending.output.prefix(Self.reasonLength), as: UTF8.self).trimmed)
    case .exited(ExitStatus.abstained): return .abstain
    case .exited, .killed:
      return .failed(ending.termination.formatted + lastLine(of: ending.errors).afterColon)
    }
  }

  private static func lastLine(of bytes: [UInt8]) -> String {
    let lines = String(decoding: bytes, as: UTF8.self).trimmed.split(whereSeparator: \.isNewline)
    return lines.last.map { String($0).trimmed } ?? ""
  }

  static func value(in output: [UInt8], upTo length: Int) -> Answer {
    guard output.count <= length else {
      return .failed("the value is longer than the limit of \(length) bytes")
    }
    do throws(JSONText.SyntaxError) {
      return .value(UserInfo(try JSONText(output).bytes))
    } catch {
      return .failed("the value is not JSON: \(error)")
    }
  }

  static func variables(of question: Question) -> [(name: String, value: String?)] {
    [
      ("TRIBUNE_NAME", question.name), ("TRIBUNE_OBJECT", question.object),
      ("TRIBUNE_QUERY", String(question.query)), ("TRIBUNE_DELEGATE", String(question.delegate)),
      ("TRIBUNE_ASKER_PID", String(question.asker.pid)),
      ("TRIBUNE_ASKER_UID", String(question.asker.uid)), ("TRIBUNE_ASKER_PROCESS", question.asker.process),
      ("TRIBUNE_ASKER_UNIT", question.asker.unit),
      ("TRIBUNE_ASKER_SYSTEM_UNIT", question.asker.units.system),
      ("TRIBUNE_ASKER_USER_UNIT", question.asker.units.user),
      ("TRIBUNE_ASKER_CONNECTION", question.asker.connection),
      ("TRIBUNE_DRY_RUN", question.isDryRun ? "1" : nil),
    ]
  }
}

extension String {
  var trimmed: String {
    let start = self.drop { $0.isWhitespace }
    guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return String(start[...end])
  }
}
