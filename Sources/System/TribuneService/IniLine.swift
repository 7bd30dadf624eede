// SPDX-License-Identifier: Apache-2.0

import CInih

/// The meaning of one line of an ini file, as libinih parses it.
///
/// libinih passes no line numbers to its handler, remembers only the first line that it could not read, does not
/// report the start of a section, and takes an indented `Key=Value` for a continuation of the previous value. So each
/// line is parsed in a stream of its own, between a section header and a key that this type adds. The section in
/// which the added key is reported shows whether the line started a section.
package enum IniLine: Equatable {
  /// Blank, or a comment.
  case nothing
  /// `[Name]`, or `[Name "Subject"]`.
  case section(String, subject: String? = nil)
  case pair(key: String, value: String)
  /// Continues a message that begins with "the line".
  case unreadable(String)

  /// Each line of a file, with its number.
  package static func all(in contents: some Collection<UInt8>) -> some Sequence<(number: Int, line: IniLine)>
  {
    contents.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated().lazy.map {
      (number: $0.offset + 1, line: IniLine($0.element))
    }
  }

  /// - Parameter line: without its line feed.
  package init(_ line: some Collection<UInt8>) {
    guard !line.contains(0) else {
      self = .unreadable("contains a NUL byte")
      return
    }
    if let header = Self.header(of: line) {
      self = header
      return
    }
    var stream = IniStream(line: Array(line))
    let failedLine = unsafe withUnsafeMutablePointer(to: &stream) { stream in
      unsafe ini_parse_stream(IniStream.read, stream, IniStream.handle, stream)
    }
    if let limit = stream.lengthMax {
      self = .unreadable("is \(line.count) bytes long; the limit is \(limit)")
    } else if failedLine != 0 {
      self = .unreadable("is neither a [Section] nor a Key=Value")
    } else if let pair = stream.pair {
      self = .pair(key: pair.key, value: pair.value)
    } else if stream.section != IniStream.own {
      self = .section(stream.section)
    } else {
      self = .nothing
    }
  }
}

extension IniLine {
  /// A section header with a quoted subject; nil for any other line.
  ///
  /// libinih would cut the subject, like every section name, at 49 bytes, and end it at a bracket. Here the subject
  /// extends from the first quote to the quote before the bracket that ends the line, without escapes.
  private static func header(of line: some Collection<UInt8>) -> IniLine? {
    let text = String(decoding: line, as: UTF8.self).trimmed
    guard text.first == "[", let open = text.firstIndex(of: "\""), !text[..<open].contains("]")
    else { return nil }
    let name = text[..<open].dropFirst().trimmed
    let rest = text[text.index(after: open)...]
    for close in rest.indices where rest[close] == "\"" {
      let end = rest[rest.index(after: close)...].trimmed
      guard end.first == "]" else { continue }
      let comment = end.dropFirst().trimmed
      if comment.isEmpty || comment.first == ";" || comment.first == "#" {
        return .section(String(name), subject: String(rest[..<close]))
      }
    }
    return .unreadable("is not a valid [Section \"Subject\"]")
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

/// The stream that libinih reads a line from, and the results of parsing it.
private struct IniStream {
  /// The name of the section and of the key that are added. No file contains it by accident, and a file that contains
  /// it on purpose only loses that line.
  static let own = "\u{1}"

  private var lines: [[UInt8]]
  private var position = 0
  /// The longest possible line in bytes, if this line is longer.
  private(set) var lengthMax: Int?
  private(set) var pair: (key: String, value: String)?
  private(set) var section = own

  init(line: [UInt8]) { lines = [Array("[\(Self.own)]".utf8), line, Array("\(Self.own)=".utf8)] }

  /// `fgets`, for libinih.
  static let read: ini_reader = { buffer, capacity, stream in
    guard let buffer = unsafe buffer, let stream = unsafe stream?.assumingMemoryBound(to: IniStream.self)
    else { return nil }
    let hasLine = unsafe stream.pointee.next(
      into: UnsafeMutableBufferPointer(start: buffer, count: Int(capacity)))
    return hasLine ? unsafe buffer : nil
  }

  /// libinih's handler. It returns nonzero for success.
  static let handle: ini_handler = { stream, section, key, value in
    guard let stream = unsafe stream?.assumingMemoryBound(to: IniStream.self),
      let section = unsafe section, let key = unsafe key, let value = unsafe value
    else { return 0 }
    unsafe stream.pointee.found(
      section: String(cString: section), key: String(cString: key), value: String(cString: value))
    return 1
  }

  private mutating func next(into buffer: UnsafeMutableBufferPointer<CChar>) -> Bool {
    guard position < lines.count else { return false }
    var line = lines[position]
    position += 1
    // The buffer also has to hold the line feed, which a file's line would have, and the terminating NUL.
    if line.count + 2 > buffer.count {
      lengthMax = buffer.count - 2
      line = []
    }
    unsafe UnsafeMutableRawBufferPointer(buffer).copyBytes(from: line + [0])
    return true
  }

  private mutating func found(section: String, key: String, value: String) {
    if key == Self.own {
      self.section = section
    } else {
      pair = (key, value)
    }
  }
}
