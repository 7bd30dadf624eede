// SPDX-License-Identifier: Apache-2.0

import CInih

/// A line of an ini file. `IniLine` passes each `Key=Value` to libinih separately. For a whole file, libinih
/// reports no line numbers and only the first error, and takes an indented line as a continuation. `IniLine`
/// parses section headers itself, because libinih cuts their names at 49 bytes.
package enum IniLine: Equatable {
  case nothing
  /// `[Name]`, or `[Name "Subject"]`.
  case section(String, subject: String? = nil)
  case pair(key: String, value: String)
  /// The text completes a sentence that begins with "the line".
  case unreadable(String, isHeader: Bool = false)

  /// The largest length of a line, in bytes. `ConfigurationFiles` accepts files of the same length.
  private static let lengthMax = 1 << 20

  private static let isPrepared: Bool = {
    // The parser's buffer also needs space for a carriage return, a line feed and a NUL.
    tribune_inih_prepare(CInt(lengthMax + 3))
    return true
  }()

  /// Returns all lines, numbered from 1. Skips a byte order mark at the start.
  package static func all(in contents: [UInt8]) -> some Sequence<(number: Int, line: IniLine)> {
    contents.dropFirst(contents.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
      .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated().lazy.map {
        (number: $0.offset + 1, line: IniLine($0.element))
      }
  }

  package init(_ line: some Collection<UInt8>) {
    let isHeader = line.first { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") } == UInt8(ascii: "[")
    guard !line.contains(0) else {
      self = .unreadable("contains a NUL byte", isHeader: isHeader)
      return
    }
    guard !line.dropLast().contains(UInt8(ascii: "\r")) else {
      self = .unreadable("contains a carriage return: lines must end in line feeds", isHeader: isHeader)
      return
    }
    guard Self.isPrepared, line.count <= Self.lengthMax else {
      self = .unreadable("is longer than 1 MiB", isHeader: isHeader)
      return
    }
    let text = String(decoding: line, as: UTF8.self)
    let trimmed = text.trimmed
    if isHeader {
      self =
        Self.header(trimmed)
        ?? .unreadable("is not a valid [Section] or [Section \"Subject\"]", isHeader: true)
      return
    }
    var pair: (key: String, value: String)?
    let failedLine = unsafe withUnsafeMutablePointer(to: &pair) { pair in
      unsafe ini_parse_string(text, Self.handler, pair)
    }
    if let pair, failedLine == 0 {
      self = .pair(key: pair.key, value: pair.value)
    } else if trimmed.isEmpty || trimmed.utf8.first == UInt8(ascii: ";")
      || trimmed.utf8.first == UInt8(ascii: "#")
    {
      self = .nothing
    } else {
      self = .unreadable("is neither a [Section] nor a Key=Value")
    }
  }

  /// Stores the parsed pair. For libinih, a result other than 0 means success.
  private static let handler: ini_handler = { pair, _, key, value in
    guard let pair = unsafe pair?.assumingMemoryBound(to: (key: String, value: String)?.self),
      let key = unsafe key, let value = unsafe value
    else { return 0 }
    unsafe pair.pointee = (String(cString: key), String(cString: value))
    return 1
  }

  /// Parses a section header. A subject has no escapes, but may contain quotes. The subject ends at the first
  /// quote that is followed by a closing bracket and at most a comment.
  private static func header(_ text: Substring) -> IniLine? {
    func ends(_ rest: Substring) -> Bool {
      let rest = rest.trimmed
      return rest.isEmpty || rest.first == ";" || rest.first == "#"
    }
    if let bracket = text.firstIndex(of: "]"), !text[..<bracket].contains("\"") {
      guard ends(text[text.index(after: bracket)...]) else { return nil }
      return .section(String(text[..<bracket].dropFirst().trimmed))
    }
    guard let open = text.firstIndex(of: "\"") else { return nil }
    let rest = text[text.index(after: open)...]
    for close in rest.indices where rest[close] == "\"" {
      let end = rest[rest.index(after: close)...].trimmed
      guard end.first == "]", ends(end.dropFirst()) else { continue }
      return .section(String(text[..<open].dropFirst().trimmed), subject: String(rest[..<close]))
    }
    return nil
  }
}

extension StringProtocol where SubSequence == Substring {
  fileprivate var trimmed: Substring {
    func isSpace(_ character: Character) -> Bool {
      character == " " || character == "\t" || character == "\r"
    }
    let start = drop(while: isSpace)
    guard let last = start.lastIndex(where: { !isSpace($0) }) else { return start[start.endIndex...] }
    return start[...last]
  }
}
