// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// Reads moments in the past as people type them. Times of day are local.
enum PastTime {
  /// Reads a span before now (`2h`, `-2h`, `2h ago`), `now`, `today`, `yesterday`, a time of today (`23:10`,
  /// `23:10:05`), a date (`2026-11-20`), or a date and a time.
  ///
  /// - Parameter now: the present time in microseconds since 1970, like the result.
  static func parse(_ text: String, of option: String, now: UInt64) throws(CommandError) -> UInt64 {
    let words = text.split(separator: " ")
    switch words.first {
    case "now" where words.count == 1: return now
    case "today" where words.count == 1: return try moment(text, option, try today(now))
    case "yesterday" where words.count == 1:
      var day = try today(now)
      day.day -= 1
      return try moment(text, option, day)
    default: break
    }
    if words.count == 2, let date = date(words[0]), let time = time(words[1]) {
      return try moment(text, option, date.at(time))
    }
    if words.count == 1, let date = date(words[0]) { return try moment(text, option, date) }
    if words.count == 1, let time = time(words[0]) {
      return try moment(text, option, try today(now).at(time))
    }
    return now - min(now, try span(text, option))
  }

  private static func span(_ text: String, _ option: String) throws(CommandError) -> UInt64 {
    var span = text
    if span.hasPrefix("-") {
      span.removeFirst()
    } else if span.hasSuffix(" ago") {
      span.removeLast(4)
    }
    do {
      return UInt64(try TimeSpan(span).microseconds)
    } catch {
      throw .usage(
        "\(option)=: \"\(text.terminalSafe)\" is not a time such as 2h, today, yesterday, 23:10, 2026-11-20 or "
          + "\"2026-11-20 23:10\"")
    }
  }

  private static func today(_ now: UInt64) throws(CommandError) -> LocalTime {
    guard let local = LocalTime(microsecondsSince1970: now) else {
      throw .failure("the local time is unknown")
    }
    return local.midnight
  }

  private static func date(_ word: Substring) -> LocalTime? {
    guard let numbers = numbers(word, separator: "-", lengths: [[4, 2, 2]]) else { return nil }
    let (year, month, day) = (numbers[0], numbers[1], numbers[2])
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let lengths: [CInt] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard (1...12).contains(month), (1...lengths[Int(month) - 1]).contains(day) else { return nil }
    return LocalTime(year: year, month: month, day: day)
  }

  private static func time(_ word: Substring) -> (hour: CInt, minute: CInt, second: CInt)? {
    guard let numbers = numbers(word, separator: ":", lengths: [[2, 2], [2, 2, 2]]) else { return nil }
    let second = numbers.count == 3 ? numbers[2] : 0
    guard numbers[0] < 24, numbers[1] < 60, second < 60 else { return nil }
    return (numbers[0], numbers[1], second)
  }

  private static func numbers(_ word: Substring, separator: Character, lengths: [[Int]]) -> [CInt]? {
    let parts = word.split(separator: separator, omittingEmptySubsequences: false)
    guard lengths.contains(parts.map(\.utf8.count)) else { return nil }
    let numbers = parts.compactMap { part in
      part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? CInt(part) : nil
    }
    return numbers.count == parts.count ? numbers : nil
  }

  private static func moment(_ text: String, _ option: String, _ local: LocalTime) throws(CommandError)
    -> UInt64
  {
    guard let moment = local.microsecondsSince1970 else {
      throw .usage("\(option)=: \"\(text.terminalSafe)\" is before 1970")
    }
    return moment
  }
}

extension LocalTime {
  fileprivate var midnight: LocalTime { LocalTime(year: year, month: month, day: day) }

  fileprivate func at(_ time: (hour: CInt, minute: CInt, second: CInt)) -> LocalTime {
    LocalTime(year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
  }
}
