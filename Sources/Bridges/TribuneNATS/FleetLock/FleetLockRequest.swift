// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
import TribuneWire

nonisolated struct FleetLockRequest: Equatable, Sendable {
  var id: String
  var group: String

  init(_ body: [UInt8]) throws(FleetLockError) {
    let root: JSONNode
    do throws(JSONText.SyntaxError) {
      root = try JSONDocument(body.rawBytes).root
    } catch {
      throw FleetLockError(.invalidBody, "the body is not JSON: \(error)")
    }
    let parameters = root["client_params"]
    guard let id = parameters?["id"]?.string, FleetLockClient.isID(id) else {
      throw FleetLockError(
        .invalidBody,
        "\"id\" in \"client_params\" is not 1 to \(FleetLockClient.idMax) of the letters A-Z, a-z, digits, ., _, - and :"
      )
    }
    guard let group = parameters?["group"]?.string, FleetLockSettings.isGroup(group) else {
      throw FleetLockError(
        .invalidBody,
        "\"group\" in \"client_params\" is not words of letters, digits and -, separated by dots")
    }
    (self.id, self.group) = (id, group)
  }
}
