// SPDX-License-Identifier: Apache-2.0

import Glibc
import Tribune
import TribuneJSON
import TribuneWire

/// The local time of day, to the millisecond.
func timeOfDay(microsecondsSince1970 microseconds: UInt64) -> String {
  var seconds = time_t(clamping: microseconds / 1_000_000)
  var parts = unsafe tm()
  guard unsafe localtime_r(&seconds, &parts) != nil else { return "?" }
  let (hour, minute, second) = unsafe (parts.tm_hour, parts.tm_min, parts.tm_sec)
  let milliseconds = String(microseconds / 1_000 % 1_000)
  return "\(twoDigits(hour)):\(twoDigits(minute)):\(twoDigits(second))."
    + String(repeating: "0", count: 3 - milliseconds.count) + milliseconds
}

/// The time of day now.
func timeOfDay() -> String {
  var now = timespec()
  // This clock always exists.
  _ = unsafe clock_gettime(CLOCK_REALTIME, &now)
  return timeOfDay(microsecondsSince1970: UInt64(now.tv_sec) * 1_000_000 + UInt64(now.tv_nsec / 1_000))
}

private func twoDigits(_ number: Int32) -> String {
  number < 10 ? "0\(number)" : String(number)
}

extension UserInfo {
  /// The userInfo for people, on one line; empty if there is none.
  var line: String {
    guard let text else { return "(\(bytes.count.counted("byte that is", "bytes that are")) no text)" }
    // JSON over several lines would be shown with `\n` in it.
    if text.utf8.contains(UInt8(ascii: "\n")), case .text(let json) = jsonMember.value { return json.compact }
    return text.terminalSafe
  }

  /// A JSON member: `userInfo` as JSON, or null if there is none.
  var jsonMember: (name: String, value: JSONValue) { jsonMember(named: "userInfo") }

  /// A JSON member with that name. If the userInfo is not JSON, the name gets the suffix `Base64`.
  func jsonMember(named name: String) -> (name: String, value: JSONValue) {
    if isEmpty { return (name, .null) }
    do {
      return (name, .text(try JSONText(bytes)))
    } catch {
      return (name + "Base64", .string(base64(bytes)))
    }
  }
}

extension Notification {
  var json: JSONValue {
    .object(
      [
        ("name", .string(name)), ("object", .string(object)),
        ("sender", sender.map { .string($0) } ?? .null), userInfo.jsonMember,
      ] + (isRetained ? [("retained", .bool(true))] : []))
  }

  /// `time  :sender  name  object  userInfo`, for people. The time is the time of arrival. A retained notification is
  /// older, and is marked.
  func line(in context: Context) -> String {
    let parts = [
      context.styled(timeOfDay(), .faint), sender ?? "bus", context.styled(name.terminalSafe, .bold),
      object.isEmpty ? "-" : object.terminalSafe, userInfo.line,
      isRetained ? context.styled("(retained)", .faint) : "",
    ]
    return parts.filter { !$0.isEmpty }.joined(separator: "  ")
  }
}

/// Reports dropped notifications as an element of the JSON stream.
func lossJSON(_ count: Int) -> JSONValue { .object([("lost", .integer(count))]) }

func lossLine(_ count: Int, of thing: String, in context: Context) -> String {
  context.styled(timeOfDay(), .faint) + "  " + context.styled("lost \(count.counted(thing))", .yellow)
}

/// Reports an interruption of the connection, after which an unknown number of notifications is missing.
var interruptionJSON: JSONValue { .object([("interrupted", .bool(true))]) }

func interruptionLine(in context: Context) -> String {
  context.styled(timeOfDay(), .faint) + "  " + context.styled("interrupted", .yellow)
}

extension Delivery {
  /// A notification or a loss, for people.
  func line(in context: Context) -> String {
    switch self {
    case .notification(let notification): notification.line(in: context)
    case .lost(let count): lossLine(count, of: "notification", in: context)
    case .interrupted: interruptionLine(in: context)
    }
  }
}

extension Context {
  /// Prints a notification or a loss in the requested format.
  func print(_ delivery: Delivery) throws(CommandError) {
    if json == .off { return try print(delivery.line(in: self)) }
    switch delivery {
    case .notification(let notification): try print(notification.json)
    case .lost(let count): try print(lossJSON(count))
    case .interrupted: try print(interruptionJSON)
    }
  }
}
