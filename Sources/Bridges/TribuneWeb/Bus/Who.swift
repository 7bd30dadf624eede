// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON

/// A process on the bus.
nonisolated package struct Who: Equatable, Sendable {
  /// The connection's id, such as `:3`.
  package var connection: String
  /// Nil if only the connection is known.
  package var pid: Int?
  package var uid: Int?
  package var process = ""
  package var unit = ""

  package init(connection: String, pid: Int? = nil, uid: Int? = nil, process: String = "", unit: String = "")
  {
    (self.connection, self.pid, self.uid) = (connection, pid, uid)
    (self.process, self.unit) = (process, unit)
  }

  init(_ asker: Asker) {
    self.init(
      connection: asker.connection, pid: Int(asker.pid), uid: Int(asker.uid), process: asker.process,
      unit: asker.unit)
  }

  init(_ info: ConnectionInfo) {
    self.init(
      connection: info.id, pid: Int(info.pid), uid: Int(info.uid), process: info.process, unit: info.unit)
  }

  init?(_ userInfo: UserInfo) {
    let parsed: JSONDocument
    do throws(JSONText.SyntaxError) {
      parsed = try userInfo.withBytes { bytes throws(JSONText.SyntaxError) in try JSONDocument(bytes) }
    } catch {
      return nil
    }
    guard let connection = parsed.root["connection"]?.string else { return nil }
    self.init(
      connection: connection, pid: parsed.root["pid"]?.integer, uid: parsed.root["uid"]?.integer,
      process: parsed.root["process"]?.string ?? "", unit: parsed.root["unit"]?.string ?? "")
  }

  var json: JSONValue {
    .object([
      ("connection", .string(connection)), ("pid", pid.map { .integer($0) } ?? .null),
      ("uid", uid.map { .integer($0) } ?? .null), ("process", .string(process)), ("unit", .string(unit)),
    ])
  }
}
