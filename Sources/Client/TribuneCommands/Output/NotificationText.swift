// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneSystem
import TribuneWire

func timeOfDay(microsecondsSince1970 microseconds: UInt64 = SystemClock.wallMicroseconds) -> String {
  guard let time = LocalTime(microsecondsSince1970: microseconds) else { return "?" }
  let milliseconds = String(microseconds / 1_000 % 1_000)
  return "\(time.timeOfDay).\(String(repeating: "0", count: 3 - milliseconds.utf8.count))\(milliseconds)"
}

extension UserInfo {
  var line: String {
    guard let text else { return "(\(count.counted("byte")) of binary data)" }
    // JSON with several lines becomes compact, because its line feeds would be shown as `\n`.
    if text.utf8.contains(UInt8(ascii: "\n")), case .text(let json) = jsonMember.value { return json.compact }
    return text.terminalSafe
  }

  static let delegateLength = 1024

  func line(upTo limit: Int) -> String { count > limit ? "(\(count.counted("byte")) of userInfo)" : line }

  func jsonMember(upTo limit: Int) -> (name: String, value: JSONValue) {
    count > limit ? ("userInfoLength", .unsigned(UInt64(count))) : jsonMember
  }

  var jsonMember: (name: String, value: JSONValue) { jsonMember(named: "userInfo") }

  /// If the userInfo is not JSON, the value is its Base64, and the member's name ends in `Base64`.
  func jsonMember(named name: String) -> (name: String, value: JSONValue) {
    if isEmpty { return (name, .null) }
    do {
      return (name, .text(try JSONText(bytes)))
    } catch {
      return (name + "Base64", .string(base64(bytes)))
    }
  }
}

extension Poster {
  var json: JSONValue {
    .object(
      [
        ("pid", pid.map { .integer(Int($0)) } ?? .null), ("uid", uid.map { .integer(Int($0)) } ?? .null),
        ("process", .string(process)),
      ] + units.members)
  }

  /// Example: `backup.sh[4242]`, as in a system log.
  fileprivate var name: String { process.terminalSafe + (pid.map { "[\($0)]" } ?? "") }
}

extension Notification {
  /// - Parameter time: the time of arrival, in microseconds since 1970.
  func json(userInfoUpTo limit: Int = .max, at time: UInt64? = nil) -> JSONValue {
    var members = headMembers
    if let time { members.append(("time", .unsigned(time))) }
    forEachTailMember(userInfoUpTo: limit) { members.append(($0, $1)) }
    return .object(members)
  }

  fileprivate var headMembers: [(name: String, value: JSONValue)] {
    [
      ("name", .string(name)), ("object", .string(object)),
      ("sender", sender.map { .string($0) } ?? .null), ("poster", poster?.json ?? .null),
    ]
  }

  @inline(__always)
  fileprivate func forEachTailMember(
    userInfoUpTo limit: Int = .max, _ body: (_ name: String, _ value: JSONValue) -> Void
  ) {
    let userInfo = userInfo.jsonMember(upTo: limit)
    body(userInfo.name, userInfo.value)
    if isRetained { body("retained", .bool(true)) }
  }

  /// The line `time  :sender process[pid]  name  object  userInfo`, with the time of arrival. A retained
  /// notification is marked, because it was posted before the observation.
  func line(in context: Context, userInfoUpTo limit: Int = .max) -> String {
    let source = [sender ?? "bus", poster?.name ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
    let parts = [
      context.styled(timeOfDay(), .faint), source, context.styled(name.terminalSafe, .bold),
      object.isEmpty ? "-" : object.terminalSafe, userInfo.line(upTo: limit),
      isRetained ? context.styled("(retained)", .faint) : "",
    ]
    return parts.filter { !$0.isEmpty }.joined(separator: "  ")
  }
}

/// Writes the same JSON as `Notification.json`. This type encodes a head that consecutive notifications share
/// only once.
struct NotificationLines {
  private var last: NotificationHead?
  /// The members of `last`, and the name of the next member, which is the time.
  private var head: [UInt8] = []

  mutating func append(_ notification: Notification, at time: UInt64, to output: inout [UInt8]) {
    if last !== notification.head {
      last = notification.head
      head = [UInt8(ascii: "{")]
      for (name, value) in notification.headMembers { head.appendMember(name, value) }
      head += ",\"time\":".utf8
    }
    output += head
    output.append(decimal: time)
    notification.forEachTailMember { output.appendMember($0, $1) }
    output.append(UInt8(ascii: "}"))
    output.append(UInt8(ascii: "\n"))
  }
}

func lossLine(_ count: Int, of thing: String, in context: Context) -> String {
  context.styled(timeOfDay(), .faint) + "  " + context.styled("lost \(count.counted(thing))", .yellow)
}

extension Delivery {
  func line(in context: Context, userInfoUpTo limit: Int = .max) -> String {
    switch self {
    case .notification(let notification): notification.line(in: context, userInfoUpTo: limit)
    case .lost(let count): lossLine(count, of: "notification", in: context)
    case .interrupted: context.styled(timeOfDay(), .faint) + "  " + context.styled("interrupted", .yellow)
    }
  }

  /// - Parameter time: the time of arrival, in microseconds since 1970.
  func json(userInfoUpTo limit: Int = .max, at time: UInt64 = SystemClock.wallMicroseconds) -> JSONValue {
    switch self {
    case .notification(let notification): notification.json(userInfoUpTo: limit, at: time)
    case .lost(let count): .object([("lost", .integer(count))])
    case .interrupted: .object([("interrupted", .bool(true))])
    }
  }
}

extension Context {
  func print(_ gap: Delivery, of thing: String) throws(CommandError) {
    var line: [UInt8] = []
    append(gap, of: thing, to: &line)
    try write(bytes: line)
  }

  /// Appends the line of a delivery, unless `reportGap` reports it on standard error.
  func append(_ delivery: Delivery, of thing: String = "notification", to output: inout [UInt8]) {
    if reportGap(delivery, of: thing) { return }
    switch delivery {
    case .lost(let count):
      output += text(lossLine(count, of: thing, in: self) + "\n", or: delivery.json()).utf8
    case .notification, .interrupted:
      output += text(delivery.line(in: self) + "\n", or: delivery.json()).utf8
    }
  }

  /// If the output is a template, which has no place for a gap (a loss or an interruption), reports the gap
  /// on standard error and returns true. Returns false for other outputs, and for a notification.
  func reportGap(_ delivery: Delivery, of thing: String = "notification") -> Bool {
    guard usesTemplate else { return false }
    switch delivery {
    case .notification: return false
    case .lost(let count): terminal.report("lost \(count.counted(thing))")
    case .interrupted: terminal.report("interrupted: the number of lost \(thing)s is unknown")
    }
    return true
  }
}

extension Units {
  var members: [(name: String, value: JSONValue)] { PeerUnits(system: system, user: user).members }

  func members(ofProcess pid: Int32, _ uid: UInt32, _ process: String) -> [(name: String, value: JSONValue)] {
    [("pid", .integer(Int(pid))), ("uid", .integer(Int(uid))), ("process", .string(process))] + members
  }
}
