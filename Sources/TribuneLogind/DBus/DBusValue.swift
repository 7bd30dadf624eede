// SPDX-License-Identifier: Apache-2.0

import CSystemd
package import TribuneJSON
package import TribuneSystem
import TribuneWire

/// An argument of a D-Bus message, as it was received.
nonisolated package indirect enum DBusValue: Equatable, Sendable {
  case bool(Bool)
  case signed(Int64)
  case unsigned(UInt64)
  case number(Double)
  /// Also an object path or a signature.
  case string(String)
  case descriptor(DBusDescriptor)
  /// An array, or a structure.
  case list([DBusValue])
  case dictionary([Entry])

  package struct Entry: Equatable, Sendable {
    package var key: DBusValue
    package var value: DBusValue

    package init(key: DBusValue, value: DBusValue) { (self.key, self.value) = (key, value) }
  }

  /// JSON that has the same contents. The keys of an object are text, and a descriptor is null.
  package var json: JSONValue {
    switch self {
    case .bool(let value): .bool(value)
    case .signed(let number): .integer(Int(number))
    case .unsigned(let number): .unsigned(number)
    case .number(let number): number.isFinite ? .number(number) : .null
    case .string(let text): .string(text)
    case .descriptor: .null
    case .list(let values): .array(values.map(\.json))
    case .dictionary(let entries): .object(entries.map { ($0.key.text, $0.value.json) })
    }
  }

  /// A value of a basic type as text.
  private var text: String {
    switch self {
    case .bool(let value): "\(value)"
    case .signed(let number): "\(number)"
    case .unsigned(let number): "\(number)"
    case .number(let number): "\(number)"
    case .string(let text): text
    case .descriptor, .list, .dictionary: ""
    }
  }
}

/// A descriptor that came with a message. It is closed with the last reference.
nonisolated package final class DBusDescriptor: Equatable, Sendable {
  package let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  package static func == (one: DBusDescriptor, other: DBusDescriptor) -> Bool { one === other }
}

/// Reads the arguments of a message, one after the other.
@safe nonisolated struct DBusReader {
  private let message: OpaquePointer

  /// - Parameter message: an `sd_bus_message` that outlives the reader.
  init(_ message: OpaquePointer) { unsafe self.message = message }

  /// The rest of the message, or of the container.
  ///
  /// - Throws: the error of libsystemd if the message is malformed.
  mutating func values() throws(Errno) -> [DBusValue] {
    var values: [DBusValue] = []
    while true {
      var type: CChar = 0
      var contents: UnsafePointer<CChar>?
      guard try DBusError.check(unsafe sd_bus_message_peek_type(message, &type, &contents)) > 0 else {
        return values
      }
      let contained = unsafe contents.map { unsafe String(cString: $0) } ?? ""
      values.append(try value(of: UInt8(bitPattern: type), contained))
    }
  }

  private mutating func value(of type: UInt8, _ contents: String) throws(Errno) -> DBusValue {
    switch type {
    case UInt8(ascii: "b"): return .bool(try basic(type, CInt(0)) != 0)
    case UInt8(ascii: "y"): return .unsigned(UInt64(try basic(type, UInt8(0))))
    case UInt8(ascii: "n"): return .signed(Int64(try basic(type, Int16(0))))
    case UInt8(ascii: "q"): return .unsigned(UInt64(try basic(type, UInt16(0))))
    case UInt8(ascii: "i"): return .signed(Int64(try basic(type, Int32(0))))
    case UInt8(ascii: "u"): return .unsigned(UInt64(try basic(type, UInt32(0))))
    case UInt8(ascii: "x"): return .signed(try basic(type, Int64(0)))
    case UInt8(ascii: "t"): return .unsigned(try basic(type, UInt64(0)))
    case UInt8(ascii: "d"): return .number(try basic(type, 0.0))
    case UInt8(ascii: "h"):
      // The message closes its own when it goes.
      return .descriptor(DBusDescriptor(try FileDescriptor.duplicate(of: try basic(type, CInt(0)))))
    case UInt8(ascii: "a"):
      let elements = try contained(type, contents)
      return contents.hasPrefix("{") ? .dictionary(elements.compactMap(Self.entry)) : .list(elements)
    case UInt8(ascii: "v"): return try contained(type, contents).first ?? .list([])
    case UInt8(ascii: "r"), UInt8(ascii: "e"): return .list(try contained(type, contents))
    default:
      var text: UnsafePointer<CChar>?
      try DBusError.check(unsafe sd_bus_message_read_basic(message, CChar(bitPattern: type), &text))
      return .string(unsafe text.map { unsafe String(cString: $0) } ?? "")
    }
  }

  private func basic<Number: BitwiseCopyable>(_ type: UInt8, _ zero: Number) throws(Errno) -> Number {
    var number = zero
    try DBusError.check(unsafe sd_bus_message_read_basic(message, CChar(bitPattern: type), &number))
    return number
  }

  private mutating func contained(_ type: UInt8, _ contents: String) throws(Errno) -> [DBusValue] {
    try DBusError.check(unsafe sd_bus_message_enter_container(message, CChar(bitPattern: type), contents))
    let values = try values()
    try DBusError.check(unsafe sd_bus_message_exit_container(message))
    return values
  }

  private static func entry(_ value: DBusValue) -> DBusValue.Entry? {
    guard case .list(let pair) = value, pair.count == 2 else { return nil }
    return DBusValue.Entry(key: pair[0], value: pair[1])
  }
}
