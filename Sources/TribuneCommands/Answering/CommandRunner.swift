// SPDX-License-Identifier: Apache-2.0

import Glibc
import Tribune
import TribuneJSON
import TribuneSystem

/// Lets commands answer questions, a bounded number at a time.
actor CommandRunner {
  private let context: Context
  /// Bytes that a value may have.
  private let valueLength: Int
  private var running: [Int32: ChildProcess] = [:]
  private var hasEnded = false

  /// Commands that run at a time. Whoever asks more than that is answered without one.
  private static let commandsMax = 64
  /// Bytes of output that are kept for a reason; the bus keeps no more.
  private static let reasonLength = 4_096
  /// Bytes that a value may have, whatever the bus takes: as many as 64 commands may write at a time.
  private static let valueLengthMax = 16 << 20

  /// - Parameter valueLength: bytes that the bus takes for a value.
  init(in context: Context, valueLength: Int) {
    self.context = context
    self.valueLength = min(valueLength, Self.valueLengthMax)
  }

  /// Runs a command to its end, and takes that for the answer.
  ///
  /// How long it may be silent is the bus's to judge: what runs under it can defer over a connection of its own.
  /// When the query is over without it, the task is cancelled, and that ends the command.
  func answer(_ question: Question, by command: [[UInt8]]) async -> Answer {
    // Nobody would be left to wait for it.
    if hasEnded { return .failed("the delegate is ending") }
    if running.count >= Self.commandsMax { return .failed("\(running.count) commands run already") }
    let child: ChildProcess
    do {
      child = try ChildProcess(
        command, environment: environment(for: question), input: .bytes(question.userInfo.bytes),
        // One byte more than is taken tells that there were more.
        output: .captured(limit: question.wantsValue ? valueLength + 1 : Self.reasonLength), leadsGroup: true,
        signalMask: context.signals.maskBefore)
    } catch {
      let name = String(decoding: command.first ?? [], as: UTF8.self)
      context.terminal.report("\(name.terminalSafe) cannot be run: \(error)")
      return .failed("\(name) cannot be run: \(error)")
    }
    running[child.pid] = child
    let ending = await withTaskCancellationHandler {
      await child.ended()
    } onCancel: {
      // The question was withdrawn, or this program ends.
      child.terminate()
    }
    running[child.pid] = nil
    if question.wantsValue, ending.termination == .exited(0) {
      return Self.value(in: ending.output, upTo: valueLength)
    }
    return Self.answer(for: ending)
  }

  /// Ends the commands that still run, and returns when they have ended. No others are started.
  func end() async {
    hasEnded = true
    let left = running.values
    for child in left { child.terminate() }
    for child in left { _ = await child.ended() }
  }

  static func answer(for ending: ChildProcess.Ending) -> Answer {
    // What a command wrote for a value before it failed may be long.
    let output = String(decoding: ending.output.prefix(Self.reasonLength), as: UTF8.self).trimmed
    switch ending.termination {
    case .exited(0): return .approve
    case .exited(1): return .veto(output)
    case .exited(2): return .abstain
    case .exited(let status):
      return .failed("exited with \(status)" + (output.isEmpty ? "" : ": \(output)"))
    case .killed(let signal):
      return .failed("was killed by signal \(signal)" + (output.isEmpty ? "" : ": \(output)"))
    }
  }

  /// What a command wrote that was asked for a value.
  static func value(in output: [UInt8], upTo length: Int) -> Answer {
    guard output.count <= length else { return .failed("its value is over \(length) bytes") }
    do throws(JSONText.SyntaxError) {
      return .value(UserInfo(try JSONText(output).bytes))
    } catch {
      return .failed("its value is not JSON: \(error)")
    }
  }

  private func environment(for question: Question) -> [[UInt8]] {
    let entries = Environment.entries(setting: variables(of: question))
    // What this program runs under itself says nothing of the question.
    let dryRun = "TRIBUNE_DRY_RUN="
    return entries.filter { !$0.starts(with: dryRun.utf8) }
      + (question.isDryRun ? [Array("\(dryRun)1".utf8)] : [])
  }

  private func variables(of question: Question) -> [(name: String, value: String)] {
    var variables = [
      ("TRIBUNE_NAME", question.name), ("TRIBUNE_OBJECT", question.object),
      ("TRIBUNE_QUERY", String(question.query)), ("TRIBUNE_DELEGATE", String(question.delegate)),
      ("TRIBUNE_ASKER_PID", String(question.asker.pid)),
      ("TRIBUNE_ASKER_UID", String(question.asker.uid)), ("TRIBUNE_ASKER_PROCESS", question.asker.process),
      ("TRIBUNE_ASKER_UNIT", question.asker.unit), ("TRIBUNE_ASKER_CONNECTION", question.asker.connection),
    ]
    // A tribunectl that the command runs means the same bus.
    if let address = context.address { variables.append(("TRIBUNE_ADDRESS", address.description)) }
    return variables
  }
}

extension ChildProcess {
  /// Asks the child and its group to end, and a second later makes them.
  fileprivate func terminate() {
    send(signal: SIGTERM)
    Task {
      await sleep(.seconds(1))
      send(signal: SIGKILL)
    }
  }
}

extension String {
  /// Without the white space around it.
  var trimmed: String {
    let start = self.drop { $0.isWhitespace }
    guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return String(start[...end])
  }
}
