// SPDX-License-Identifier: Apache-2.0

package import TribuneJSON
import TribuneWire

/// The error for a message that is not a call. The bus then ends the connection, because it cannot rely on
/// the client's further input.
package struct VarlinkFlaw: Error, Equatable, Sendable {
  package let reason: String
}

/// One call of a client (https://varlink.org/Method-Call): a JSON object, ended by a zero byte.
package struct VarlinkCall {
  /// The longest message in bytes, with its zero byte. A longer message would occupy the bus for too long.
  package static let lengthMax = 128 << 10

  package let method: String
  /// Nil if absent or null, which means the same as an empty object.
  package let parameters: JSONNode?
  /// True if the client wants no reply, not even an error.
  package let isOneway: Bool
  package let takesMore: Bool
  package let wantsUpgrade: Bool

  /// - Parameter message: the message without its zero byte.
  package init(_ message: RawSpan) throws(VarlinkFlaw) {
    let document: JSONDocument
    do throws(JSONText.SyntaxError) {
      document = try JSONDocument(message)
    } catch {
      throw VarlinkFlaw(reason: "a message is no JSON: \(error)")
    }
    let call = document.root
    guard call.kind == .object else { throw VarlinkFlaw(reason: "a message is no JSON object") }
    guard let method = call["method"]?.string else {
      throw VarlinkFlaw(reason: "a message names no method")
    }
    self.method = method
    isOneway = try Self.flag("oneway", of: call)
    takesMore = try Self.flag("more", of: call)
    wantsUpgrade = try Self.flag("upgrade", of: call)
    guard !isOneway || !takesMore else {
      throw VarlinkFlaw(reason: "a call wants no reply, and several ones")
    }
    let parameters = call["parameters"]
    switch parameters?.kind {
    case nil, .null: self.parameters = nil
    case .object: self.parameters = parameters
    default: throw VarlinkFlaw(reason: "the parameters of a call are no JSON object")
    }
  }

  private static func flag(_ name: String, of call: JSONNode) throws(VarlinkFlaw) -> Bool {
    guard let value = call[name], value.kind != .null else { return false }
    guard let flag = value.bool else { throw VarlinkFlaw(reason: "the member \(name) of a call is no bool") }
    return flag
  }
}
