// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A formatter of valid JSON. It sets white space, and escapes characters that could act on a terminal.
struct JSONFormatter {
  private let bytes: [UInt8]
  private let isPretty: Bool
  private var output: [UInt8] = []
  private var depth = 0
  private var position = 0

  private init(bytes: [UInt8], isPretty: Bool) {
    self.bytes = bytes
    self.isPretty = isPretty
  }

  static func format(_ bytes: [UInt8], isPretty: Bool) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count)
    append(bytes, isPretty: isPretty, to: &output)
    return output
  }

  static func append(_ bytes: [UInt8], isPretty: Bool, to output: inout [UInt8]) {
    if bytes.isPlainScalar {
      output += bytes
      return
    }
    var formatter = JSONFormatter(bytes: bytes, isPretty: isPretty)
    // The swap avoids a copy: the formatter appends to the caller's array.
    swap(&formatter.output, &output)
    formatter.run()
    swap(&formatter.output, &output)
  }

  private mutating func run() {
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): continue
      case UInt8(ascii: "\""): copyString()
      case UInt8(ascii: "{"), UInt8(ascii: "["): open(byte)
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        breakLine()
        output.append(byte)
      case UInt8(ascii: ","):
        output.append(byte)
        breakLine()
      case UInt8(ascii: ":"):
        output.append(byte)
        if isPretty { output.append(UInt8(ascii: " ")) }
      default: output.append(byte)
      }
    }
  }

  private mutating func open(_ bracket: UInt8) {
    output.append(bracket)
    // An empty object or array stays on one line. In ASCII, `]` is `[` plus 2, and `}` is `{` plus 2.
    let rest = bytes[position...]
    let next = rest.firstIndex { $0 > UInt8(ascii: " ") } ?? rest.endIndex
    if next < rest.endIndex, bytes[next] == bracket + 2 {
      output.append(bytes[next])
      position = next + 1
      return
    }
    depth += 1
    breakLine()
  }

  private mutating func breakLine() {
    guard isPretty else { return }
    output.append(UInt8(ascii: "\n"))
    output += repeatElement(UInt8(ascii: " "), count: 2 * depth)
  }

  private mutating func copyString() {
    output.append(UInt8(ascii: "\""))
    while position < bytes.count {
      output.appendPlain(of: bytes, at: &position)
      guard position < bytes.count else { return }
      switch bytes[position] {
      case UInt8(ascii: "\\"):
        // In valid JSON, a character follows each backslash.
        output.append(bytes[position], bytes[position + 1])
        position += 2
      case UInt8(ascii: "\""):
        output.append(UInt8(ascii: "\""))
        position += 1
        return
      default: output.appendOther(of: bytes, at: &position)
      }
    }
  }
}

extension [UInt8] {
  /// True for simple JSON texts, which need no parser: a whole number of at most 18 digits without leading
  /// zeros, or a string of plain characters.
  var isPlainScalar: Bool {
    guard let first, let last else { return false }
    if first == UInt8(ascii: "\"") {
      return count > 1 && last == first && self[1..<count - 1].allSatisfy(\.isPlainInJSON)
    }
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    return count <= 18 && allSatisfy { digits.contains($0) } && (count == 1 || first != digits.lowerBound)
  }

  package mutating func append(decimal number: UInt64) {
    var (length, power) = (1, UInt64(10))
    while length < 20, number >= power {
      length += 1
      power = power &* 10
    }
    append(contentsOf: repeatElement(UInt8(ascii: "0"), count: length))
    var rest = number
    var digits = mutableSpan
    for place in stride(from: digits.count - 1, to: digits.count - 1 - length, by: -1) {
      digits[place] += UInt8(rest % 10)
      rest /= 10
    }
  }

  mutating func append(_ first: UInt8, _ second: UInt8) {
    append(first)
    append(second)
  }

  mutating func appendPlain(of bytes: [UInt8], at position: inout Int) {
    let start = position
    while position < bytes.count, bytes[position].isPlainInJSON { position += 1 }
    if position > start { self += bytes[start..<position] }
  }

  /// Appends the next character, escaped if it could act on a terminal (`actsOnTerminals`).
  mutating func appendOther(of bytes: [UInt8], at position: inout Int) {
    var rest = bytes[position...].makeIterator()
    var decoder = UTF8()
    guard case .scalarValue(let scalar) = decoder.decode(&rest) else {
      append(bytes[position])
      position += 1
      return
    }
    let end = position + UTF8.width(scalar)
    defer { position = end }
    guard scalar.actsOnTerminals else {
      self += bytes[position..<end]
      return
    }
    for unit in String(scalar).utf16 {
      append(UInt8(ascii: "\\"), UInt8(ascii: "u"))
      for shift in [12, 8, 4, 0] as [UInt16] {
        let digit = UInt8(unit >> shift & 15)
        append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
      }
    }
  }
}

extension RawSpan {
  var isPlainInJSON: Bool {
    for position in 0..<byteCount where !integer(at: position, as: UInt8.self).isPlainInJSON { return false }
    return true
  }
}

extension UInt8 {
  fileprivate var isPlainInJSON: Bool {
    switch self {
    case ..<0x20, UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x7F...: false
    default: true
    }
  }
}
