// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
package import TribuneWire

package enum VarlinkError: Error, Equatable, Sendable {
  case interfaceNotFound(String)
  case methodNotFound(String)
  /// The call wants to upgrade the connection, which no method can do.
  case methodNotImplemented(String)
  case invalidParameter(String)
  case expectedMore
  case refused(WireError)

  var name: String {
    switch self {
    case .interfaceNotFound: "org.varlink.service.InterfaceNotFound"
    case .methodNotFound: "org.varlink.service.MethodNotFound"
    case .methodNotImplemented: "org.varlink.service.MethodNotImplemented"
    case .invalidParameter: "org.varlink.service.InvalidParameter"
    case .expectedMore: "org.varlink.service.ExpectedMore"
    case .refused: "io.tribune.Bus.Refused"
    }
  }

  private var parameters: [(name: String, value: JSONValue)] {
    switch self {
    case .interfaceNotFound(let interface): [("interface", .string(interface))]
    case .methodNotFound(let method), .methodNotImplemented(let method): [("method", .string(method))]
    case .invalidParameter(let parameter): [("parameter", .string(parameter))]
    case .expectedMore: []
    case .refused(let error): [("code", .string("\(error.code)")), ("message", .string(error.message))]
    }
  }

  /// The error as a reply, without its final zero byte.
  package var reply: String {
    JSONValue.object([("error", .string(name)), ("parameters", .object(parameters))]).compact
  }
}
