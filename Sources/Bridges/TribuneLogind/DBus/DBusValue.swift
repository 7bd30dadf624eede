// SPDX-License-Identifier: Apache-2.0

package import TribuneJSON
import TribuneSystem

nonisolated package enum DBusValue: Equatable, Sendable {
  case bool(Bool)
  case signed(Int64)
  case unsigned(UInt64)
  case number(Double)
  /// A string, an object path or a signature.
  case string(String)
  case descriptor(DBusDescriptor)
  /// An array or a structure.
  case list([DBusValue])
  case dictionary([Entry])

  package struct Entry: Equatable, Sendable {
    package var key: DBusValue
    package var value: DBusValue

    package init(key: DBusValue, value: DBusValue) { (self.key, self.value) = (key, value) }
  }

  /// Dictionary keys become strings, and descriptors become null.
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
