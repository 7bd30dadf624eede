// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
import TribuneWire

/// The parameters of a call. Unknown parameters are errors, because they are probably misspelt.
struct Parameters {
  private let object: JSONNode?
  private var known: Set<String> = []

  init(_ call: VarlinkCall) { object = call.parameters }

  private mutating func member(_ name: String) -> JSONNode? {
    known.insert(name)
    guard let value = object?[name], value.kind != .null else { return nil }
    return value
  }

  private func required<Value>(_ value: Value?, _ name: String) throws(VarlinkError) -> Value {
    guard let value else { throw .invalidParameter(name) }
    return value
  }

  mutating func optionalText(_ name: String) throws(VarlinkError) -> String? {
    guard let value = member(name) else { return nil }
    return try required(value.string, name)
  }

  mutating func text(_ name: String) throws(VarlinkError) -> String {
    try required(try optionalText(name), name)
  }

  mutating func texts(_ name: String) throws(VarlinkError) -> [String]? {
    guard let value = member(name) else { return nil }
    guard value.kind == .array else { throw .invalidParameter(name) }
    var texts: [String] = []
    for index in 0..<value.count { texts.append(try required(value[index]?.string, name)) }
    return texts
  }

  mutating func flag(_ name: String) throws(VarlinkError) -> Bool {
    guard let value = member(name) else { return false }
    return try required(value.bool, name)
  }

  mutating func integer(_ name: String) throws(VarlinkError) -> Int? {
    guard let value = member(name) else { return nil }
    return try required(value.integer, name)
  }

  /// Returns an empty array if the parameter is absent.
  mutating func userInfo(_ name: String) throws(VarlinkError) -> [UInt8] {
    guard let value = member(name) else { return [] }
    guard value.kind == .object else { throw .invalidParameter(name) }
    return value.copy.compactBytes
  }

  /// Converts a parameter in seconds to milliseconds, rounded up. Returns nil if the parameter is absent.
  mutating func milliseconds(_ name: String) throws(VarlinkError) -> UInt32? {
    guard let value = member(name) else { return nil }
    let milliseconds = (try required(value.number, name) * 1000).rounded(.up)
    guard milliseconds >= 0, milliseconds <= Double(UInt32.max) else { throw .invalidParameter(name) }
    return UInt32(milliseconds)
  }

  mutating func positiveMilliseconds(_ name: String) throws(VarlinkError) -> UInt32? {
    let milliseconds = try milliseconds(name)
    guard milliseconds != 0 else { throw .invalidParameter(name) }
    return milliseconds
  }

  mutating func word<Word: CaseIterable>(_ name: String, _ type: Word.Type) throws(VarlinkError) -> Word? {
    guard let text = try optionalText(name) else { return nil }
    return try required(Word.allCases.first { "\($0)" == text }, name)
  }

  func requireNoOthers() throws(VarlinkError) {
    guard let object else { return }
    for (name, _) in object.members where !known.contains(name) { throw .invalidParameter(name) }
  }
}
