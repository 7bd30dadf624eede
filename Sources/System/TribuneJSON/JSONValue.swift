// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// A JSON value that the program writes.
package enum JSONValue: Sendable {
  case null
  case bool(Bool)
  case integer(Int)
  case unsigned(UInt64)
  /// The number must be finite.
  case number(Double)
  /// The duration is written in seconds, with a precision of microseconds.
  case seconds(Duration)
  case string(String)
  case text(JSONText)
  case array([JSONValue])
  case object([(name: String, value: JSONValue)])

  package var compact: String { String(decoding: compactBytes, as: UTF8.self) }

  package var compactBytes: [UInt8] {
    var output: [UInt8] = []
    write(to: &output)
    return output
  }

  package var pretty: String {
    String(decoding: JSONFormatter.format(compactBytes, isPretty: true), as: UTF8.self)
  }

  fileprivate func write(to output: inout [UInt8]) {
    switch self {
    case .null: output += "null".utf8
    case .bool(let value): output += (value ? "true" : "false").utf8
    case .integer(let number): output += String(number).utf8
    case .unsigned(let number): output.append(decimal: number)
    case .number(let number): output += number.description.utf8
    case .seconds(let duration): output += duration.decimalSeconds.utf8
    case .string(let string): Self.write(string, to: &output)
    case .text(let text): JSONFormatter.append(text.bytes, isPretty: false, to: &output)
    case .array(let values):
      output.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { output.append(UInt8(ascii: ",")) }
        value.write(to: &output)
      }
      output.append(UInt8(ascii: "]"))
    case .object(let members):
      output.append(UInt8(ascii: "{"))
      for (name, value) in members { output.appendMember(name, value) }
      output.append(UInt8(ascii: "}"))
    }
  }

  fileprivate static func write(_ string: String, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\""))
    if string.utf8Bytes.isPlainInJSON {
      output += string.utf8
    } else {
      writeEscaped(Array(string.utf8), to: &output)
    }
    output.append(UInt8(ascii: "\""))
  }

  private static func writeEscaped(_ bytes: [UInt8], to output: inout [UInt8]) {
    var position = 0
    while true {
      output.appendPlain(of: bytes, at: &position)
      guard position < bytes.count else { break }
      let byte = bytes[position]
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): output.append(UInt8(ascii: "\\"), byte)
      case UInt8(ascii: "\n"): output.append(UInt8(ascii: "\\"), UInt8(ascii: "n"))
      case UInt8(ascii: "\t"): output.append(UInt8(ascii: "\\"), UInt8(ascii: "t"))
      case UInt8(ascii: "\r"): output.append(UInt8(ascii: "\\"), UInt8(ascii: "r"))
      default:
        output.appendOther(of: bytes, at: &position)
        continue
      }
      position += 1
    }
  }
}

extension [UInt8] {
  /// Appends a member of an object. The caller writes the object's braces.
  package mutating func appendMember(_ name: String, _ value: JSONValue) {
    if last != UInt8(ascii: "{") { append(UInt8(ascii: ",")) }
    JSONValue.write(name, to: &self)
    append(UInt8(ascii: ":"))
    value.write(to: &self)
  }
}

extension Duration {
  /// The seconds with a precision of microseconds and without an exponent, such as `0.000350` or `12`.
  fileprivate var decimalSeconds: String {
    let microseconds = wholeMicroseconds
    let fraction = String((microseconds % 1_000_000).magnitude)
    let sign = microseconds < 0 ? "-" : ""
    let whole = "\(sign)\((microseconds / 1_000_000).magnitude)"
    if fraction == "0" { return whole }
    return whole + "." + String(repeating: "0", count: 6 - fraction.count) + fraction
  }
}

package func base64(_ bytes: [UInt8]) -> String {
  let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  var output: [UInt8] = []
  output.reserveCapacity((bytes.count + 2) / 3 * 4)
  for start in stride(from: 0, to: bytes.count, by: 3) {
    let group = bytes[start..<min(start + 3, bytes.count)]
    var bits: UInt32 = 0
    for offset in 0..<3 { bits = bits << 8 | (offset < group.count ? UInt32(group[start + offset]) : 0) }
    for offset in 0..<4 {
      let digit = digits[Int(bits >> (18 - 6 * UInt32(offset)) & 63)]
      output.append(offset <= group.count ? digit : UInt8(ascii: "="))
    }
  }
  return String(decoding: output, as: UTF8.self)
}

extension PeerUnits {
  /// The member `unit` has the system unit, or the user unit if there is no system unit.
  package var members: [(name: String, value: JSONValue)] {
    [("unit", .string(primary)), ("systemUnit", .string(system)), ("userUnit", .string(user))]
  }
}
