// SPDX-License-Identifier: Apache-2.0

import CSystemdBus
import TribuneSystem

/// Decodes a message's arguments within limits.
@safe nonisolated struct DBusReader {
  struct Limit {
    /// The number of values, including containers.
    var count: Int
    var length: Int

    static let reply = Limit(count: 1_000_000, length: 16 << 20)
    /// The limit for signals is lower, because any process can send signals.
    static let signal = Limit(count: 1_000, length: 64 << 10)
  }

  private static let tooLong = Errno.outOfRange

  private let message: OpaquePointer
  private var rest: Limit

  /// - Parameter message: must outlive the reader.
  init(_ message: OpaquePointer, _ limit: Limit) {
    unsafe self.message = message
    rest = limit
  }

  /// Returns all arguments, or nil if they exceed the limit.
  mutating func all() throws(Errno) -> [DBusValue]? {
    do throws(Errno) {
      return try values()
    } catch  where error == Self.tooLong {
      return nil
    }
  }

  private mutating func values() throws(Errno) -> [DBusValue] {
    var values: [DBusValue] = []
    while true {
      var type: CChar = 0
      var contents: UnsafePointer<CChar>?
      guard try DBusError.check(unsafe sd_bus_message_peek_type(message, &type, &contents)) > 0 else {
        return values
      }
      rest.count -= 1
      guard rest.count >= 0 else { throw Self.tooLong }
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
      // The message closes its own descriptor, so the value owns a duplicate.
      return .descriptor(DBusDescriptor(try FileDescriptor.duplicate(of: try basic(type, CInt(0)))))
    case UInt8(ascii: "a"):
      let elements = try contained(type, contents)
      return contents.hasPrefix("{") ? .dictionary(elements.compactMap(Self.entry)) : .list(elements)
    case UInt8(ascii: "v"): return try contained(type, contents).first ?? .list([])
    case UInt8(ascii: "r"), UInt8(ascii: "e"): return .list(try contained(type, contents))
    default:
      var text: UnsafePointer<CChar>?
      try DBusError.check(unsafe sd_bus_message_read_basic(message, CChar(bitPattern: type), &text))
      let string = unsafe text.map { unsafe String(cString: $0) } ?? ""
      rest.length -= string.utf8.count
      guard rest.length >= 0 else { throw Self.tooLong }
      return .string(string)
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
