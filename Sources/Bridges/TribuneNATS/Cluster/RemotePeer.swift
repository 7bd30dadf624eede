// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON

/// A process on another host, as that host's gateway describes it. This host cannot verify the description,
/// so decisions do not use it.
nonisolated struct RemotePeer: Equatable, Sendable {
  /// The limit of each text: the longest name of a unit, in bytes (systemd.unit(5)).
  private static let textMax = 255
  private static let headerMax = 4 * 3 * textMax

  var pid: Int32?
  var uid: UInt32?
  var process = ""
  var units = Units()
}

nonisolated extension RemotePeer {
  init(_ asker: Asker) {
    self.init(pid: asker.pid, uid: asker.uid, process: asker.process, units: asker.units)
  }

  init(_ poster: Poster?) {
    self.init()
    guard let poster else { return }
    (pid, uid, process, units) = (poster.pid, poster.uid, poster.process, poster.units)
  }

  /// Ignores invalid parts.
  init(headerText: String) {
    self.init()
    guard headerText.utf8.count <= Self.headerMax else { return }
    for part in headerText.split(separator: ",") {
      let pair = part.split(separator: "=", maxSplits: 1)
      guard pair.count == 2, let value = ByteEscape.header.unescape(String(pair[1]), lengthMax: Self.textMax)
      else {
        continue
      }
      switch pair[0] {
      case "pid": pid = Int32(value)
      case "uid": uid = UInt32(value)
      case "process": process = value
      case "systemUnit": units.system = value
      case "userUnit": units.user = value
      default: continue
      }
    }
  }

  var headerText: String {
    let facts = [
      ("pid", pid.map { "\($0)" } ?? ""), ("uid", uid.map { "\($0)" } ?? ""), ("process", process),
      ("systemUnit", units.system), ("userUnit", units.user),
    ]
    return facts.filter { !$0.1.isEmpty }
      .map { "\($0.0)=\(ByteEscape.header.escape($0.1).replacing(",", with: "%2C"))" }.joined(separator: ",")
  }

  var members: [(name: String, value: JSONValue)] {
    [
      ("pid", pid.map { .integer(Int($0)) } ?? .null), ("uid", uid.map { .integer(Int($0)) } ?? .null),
      ("process", .string(process)), ("systemUnit", .string(units.system)), ("userUnit", .string(units.user)),
    ]
  }
}
