// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Rewrites the white space of valid JSON.
struct JSONFormatter {
  private let bytes: [UInt8]
  /// Whether the JSON has line breaks and indentation; else it is one line.
  private let isPretty: Bool
  private var output: [UInt8] = []
  private var depth = 0
  private var position = 0

  private init(bytes: [UInt8], isPretty: Bool) {
    self.bytes = bytes
    self.isPretty = isPretty
    output.reserveCapacity(bytes.count)
  }

  static func format(_ bytes: [UInt8], isPretty: Bool) -> String {
    var formatter = JSONFormatter(bytes: bytes, isPretty: isPretty)
    formatter.run()
    return String(decoding: formatter.output, as: UTF8.self)
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
    // An empty object or array stays on one line. In ASCII, `}` and `]` are two above `{` and `[`.
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
      let byte = bytes[position]
      if byte == UInt8(ascii: "\\"), position + 1 < bytes.count {
        output += [byte, bytes[position + 1]]
        position += 2
      } else if byte < 0x7F {
        output.append(byte)
        position += 1
        if byte == UInt8(ascii: "\"") { return }
      } else {
        copyScalar()
      }
    }
  }

  /// Copies a character outside printable ASCII, or its escape if it could act on a terminal.
  private mutating func copyScalar() {
    let length =
      switch bytes[position] {
      case ..<0x80: 1
      case ..<0xE0: 2
      case ..<0xF0: 3
      default: 4
      }
    let end = min(position + length, bytes.count)
    let encoded = bytes[position..<end]
    position = end
    let scalar = String(decoding: encoded, as: UTF8.self).unicodeScalars.first
    if let scalar, scalar.actsOnTerminals {
      output.append(contentsOf: scalar.jsonEscape.utf8)
    } else {
      output += encoded
    }
  }
}

extension Unicode.Scalar {
  /// `\u` and four digits. The scalar must need no surrogates.
  var jsonEscape: String {
    let digits = String(value, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
