// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneSystem
import TribuneWire

/// Operands and options of several verbs, checked before the verb connects to the bus.
extension Invocation {
  func name(at index: Int) throws(CommandError) -> String { try Self.checkedName(operands[index]) }

  func question(at index: Int, orValue takesValues: Bool = false) throws(CommandError) -> String {
    let name = try name(at: index)
    try ActionNames.requireQuestion(name, orValue: takesValues)
    return name
  }

  static func checkedName(_ text: String) throws(CommandError) -> String {
    guard NameSyntax.isName(text.utf8Bytes) else {
      throw .usage(
        "\"\(text.terminalSafe)\" is not a valid name: a name has tokens of A-Z, a-z, 0-9, _ and -, separated by "
          + "dots, and at most \(WireLimits.nameLength) bytes")
    }
    return text
  }

  func patterns() throws(CommandError) -> [String] {
    for text in operands { _ = try Self.checkedPattern(text) }
    return operands
  }

  static func checkedPattern(_ text: String) throws(CommandError) -> Pattern {
    do throws(WireError) {
      return try Pattern(text)
    } catch {
      throw .usage(
        "\(error.message): in a pattern, * matches one token, a last ** one or more")
    }
  }

  func object(of names: [String] = []) throws(CommandError) -> String {
    let object = try Self.oneObject(text(.object) ?? "", of: "--object: ")
    for name in names { try Self.requireForm(of: object, for: name) }
    return object
  }

  static func requireForm(of object: String, for name: String) throws(CommandError) {
    guard let meant = WellKnownQuestions.object(meantBy: object, for: name) else { return }
    throw .usage(
      "\"\(object.terminalSafe)\" is no object of \(name): did you mean \(meant.terminalSafe)?")
  }

  static func oneObject(_ text: String, of option: String) throws(CommandError) -> String {
    let object = try checkedObject(text, of: option)
    guard !object.contains("*") else {
      throw .usage("\(option)\"\(object.terminalSafe)\" has a wildcard: name one object, or none for any")
    }
    // The object "any", and quotes or blanks around an object, are probably mistakes: lists show "any" for no
    // object, and wrong quoting in shells and units leaves quotes and blanks.
    let isQuoted = ["\"", "'", " "].contains { object.hasPrefix($0) || object.hasSuffix($0) }
    guard object != "any", !isQuoted else {
      throw .usage(
        "\(option)\"\(object.terminalSafe)\" is \(isQuoted ? "in quotes or blanks" : "no object: name none for any")"
      )
    }
    return object
  }

  static func checkedObject(_ text: String, of option: String = "") throws(CommandError) -> String {
    guard NameSyntax.isObject(text.utf8Bytes) else {
      throw .usage(
        "\(option)\"\(text.terminalSafe)\" is not a valid object: an object has at most "
          + "\(WireLimits.objectLength) bytes, and no control characters")
    }
    return text
  }

  func label() throws(CommandError) -> String? {
    let label = text(.label)
    guard label != "" else { throw .usage("--label needs a text") }
    guard label?.utf8.count ?? 0 <= WireLimits.labelLength else {
      throw .usage("--label must have at most \(WireLimits.labelLength) bytes")
    }
    return label
  }

  /// The name of the command's program. If there is no command, the name of process `pid`. If `pid` is this
  /// process's parent, and systemd, the name of this process's unit instead.
  func commandName(orOf pid: Int32) -> String {
    guard let program = command.first else {
      let name = ProcessFacts.name(of: pid)
      let unit = pid == ThisProcess.parent && name == "systemd" ? ProcessFacts.innermostUnit : nil
      return (unit ?? name).prefix(utf8Length: WireLimits.labelLength)
    }
    let name =
      program.split(separator: UInt8(ascii: "/")).last.map { String(decoding: $0, as: UTF8.self) } ?? ""
    return name.prefix(utf8Length: WireLimits.labelLength)
  }

  /// The userInfo as JSON; with --text, as a JSON string. For the operand `-`, returns standard input, or
  /// no userInfo while standard input has not been read.
  func userInfo(at index: Int) throws(CommandError) -> UserInfo {
    guard operands.indices.contains(index) else {
      guard !has(.text) || has(.eachLine) else { throw .usage("--text needs a text instead of JSON") }
      return .none
    }
    let text = operands[index]
    guard let bytes = text == "-" ? input : Array(text.utf8) else {
      precondition(needsInput, "\(verb) does not read its userInfo")
      return .none
    }
    let source =
      text == "-" ? "standard input" : "\"\(text.count > 60 ? text.prefix(60) + "…" : text)\"".terminalSafe
    if has(.text) {
      guard let json = Self.json(ofText: bytes) else { throw .usage("\(source) is not UTF-8") }
      return json
    }
    do {
      return UserInfo(try JSONText(bytes).bytes)
    } catch {
      // Input that begins like JSON was probably meant as JSON. In this case, the message has the parser's
      // error instead of a remedy.
      let isText = bytes.first.map { !"{[\"".utf8.contains($0) } ?? false
      let remedy =
        text == "-"
        ? "--text takes a text" : "for a text, write '\(JSONValue.string(text).compact)' or add --text"
      throw .usage("\(source) is not JSON: \(isText ? remedy : "\(error)")")
    }
  }

  static func json(ofText bytes: [UInt8]) -> UserInfo? {
    String(validating: bytes, as: UTF8.self).map { UserInfo(JSONValue.string($0).compactBytes) }
  }

  /// True if the userInfo comes from standard input, which this process has not read yet.
  var needsInput: Bool {
    input == nil && [.post, .ask, .guard, .query].contains(verb) && operands.dropFirst().first == "-"
  }

  mutating func readInput(upTo limit: Int) async throws(CommandError) {
    do throws(Errno) {
      input = try await Thread.result {
        Result { () throws(Errno) in try StandardInput.readAll(limit: limit) }
      }
      .get()
    } catch {
      throw .failure("standard input cannot be read: \(error)")
    }
    guard input != nil else {
      throw .usage("standard input is longer than the limit of \(limit) bytes")
    }
  }

  /// Reads at most 1 MiB, the limit of a file in protocols.d. If `file` is `-`, reads standard input.
  static func definitions(in file: String) throws(CommandError) -> [UInt8] {
    let lengthMax = 1 << 20
    let bytes: [UInt8]?
    do throws(Errno) {
      bytes =
        if file == "-" {
          try StandardInput.readAll(limit: lengthMax)
        } else {
          try InputFile.contents(of: file, lengthMax: lengthMax, waits: true)
        }
    } catch {
      throw .failure("\(file.terminalSafe): \(error)")
    }
    guard let bytes else {
      throw .failure("\(file.terminalSafe): longer than the limit of 1 MiB for protocol definitions")
    }
    return bytes
  }

  func wireTimeout() throws(CommandError) -> Duration? { try wireSpan(.timeout) }

  func waiting() throws(CommandError) -> Waiting? {
    has(.wait) ? Waiting(deadline: try wireSpan(.wait)) : nil
  }

  func patience() throws(CommandError) -> Patience? {
    guard has(.waitUntilAllowed) else {
      for option in [Option.recheck, .claim] where has(option) {
        throw .usage("\(option.spelling) needs --wait-until-allowed")
      }
      return nil
    }
    try refuse([.dryRun, .override], beside: .waitUntilAllowed)
    let span = span(.waitUntilAllowed)?.duration
    if let span, span <= .zero { throw .usage("--wait-until-allowed must be more than 0") }
    let most = Duration.seconds(365 * 86_400)
    let pause = self.span(.recheck)?.duration ?? Patience.pauseDefault
    guard pause >= .seconds(1) else { throw .usage("--recheck must be at least 1s") }
    return Patience(span: span.map { min($0, most) }, pause: min(pause, most))
  }

  /// How long to wait for a lease; nil without a limit.
  var leaseWait: Duration? { span(.wait)?.duration }

  func refuse(_ others: [Option], beside option: Option) throws(CommandError) {
    guard let other = others.first(where: has) else { return }
    throw .usage("\(option.spelling) and \(other.spelling) cannot be combined")
  }

  private func wireSpan(_ option: Option) throws(CommandError) -> Duration? {
    guard let span = span(option) else { return nil }
    return try Self.checkedWireSpan(span, of: option.spelling)
  }

  static func checkedWireSpan(_ span: TimeSpan, of what: String) throws(CommandError) -> Duration {
    let milliseconds = Int64(UInt32.max)
    guard span.milliseconds > 0, span.milliseconds <= milliseconds else {
      throw .usage(
        "\(what) must be more than 0, and at most \(Duration.milliseconds(milliseconds).formatted), not "
          + span.text.terminalSafe)
    }
    return span.duration
  }
}

func subjectText(_ name: String, _ object: String) -> String {
  object.isEmpty ? name.terminalSafe : "\(name.terminalSafe) \(object.terminalSafe)"
}

func objectText(_ object: String) -> String {
  object.isEmpty ? "any object" : "object \(object.terminalSafe)"
}

func parentQuery(reportingTo terminal: Terminal) -> UInt64? {
  guard let text = Environment.nonEmptyValue(of: "TRIBUNE_QUERY") else { return nil }
  guard let query = UInt64(text) else {
    terminal.report("$TRIBUNE_QUERY is not the number of a query, and is ignored: \"\(text.terminalSafe)\"")
    return nil
  }
  return query
}
