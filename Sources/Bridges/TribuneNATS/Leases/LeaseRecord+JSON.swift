// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
import TribuneWire

/// Why what NATS has of a lease is not used: whoever may write there can have written anything.
nonisolated package struct LeaseRecordError: Error, Equatable {
  package let message: String

  package init(message: String) { self.message = message }
}

nonisolated extension LeaseRecord {
  /// Bytes that a record can have.
  package static let lengthMax = 64 << 10
  private static let version = 1

  /// - Throws: if these are not the bytes of a record. Nothing that cannot be read is a free lease.
  package init(_ bytes: [UInt8]) throws(LeaseRecordError) {
    self.init()
    guard bytes.count <= Self.lengthMax else {
      throw LeaseRecordError(message: "it has more than \(Self.lengthMax) bytes")
    }
    let root: JSONNode
    do throws(JSONText.SyntaxError) {
      root = try JSONDocument(bytes.rawBytes).root
    } catch {
      throw LeaseRecordError(message: "it is not JSON: \(error)")
    }
    guard let version = root["version"]?.integer else { throw LeaseRecordError(message: "it has no version") }
    guard version == Self.version else {
      throw LeaseRecordError(message: "it has the version \(version), which this program does not know")
    }
    slots = try root.integer("slots", 1...Self.slotsMax)
    guard let list = root["owners"], list.kind == .array, list.count <= slots else {
      throw LeaseRecordError(message: "it does not have one owner for each slot at most")
    }
    for index in 0..<list.count {
      guard let node = list[index] else { break }
      let owner = try LeaseOwner(node)
      guard !owners.contains(where: { $0.host == owner.host }) else {
        throw LeaseRecordError(message: "it has the host \(owner.host) twice")
      }
      owners.append(owner)
    }
  }

  package var bytes: [UInt8] {
    let owners = owners.map { owner in
      JSONValue.object([
        ("host", .string(owner.host)), ("id", .string(owner.id)),
        ("machine", .string(owner.machine)), ("boot", .string(owner.boot)),
        ("pid", .integer(owner.pid)), ("start", .integer(owner.start)), ("label", .string(owner.label)),
        ("uid", .integer(owner.uid)), ("unit", .string(owner.unit)), ("since", .integer(owner.since)),
      ])
    }
    return JSONValue.object([
      ("version", .integer(Self.version)), ("slots", .integer(slots)), ("owners", .array(owners)),
    ]).compactBytes
  }
}

nonisolated extension LeaseOwner {
  fileprivate init(_ node: JSONNode) throws(LeaseRecordError) {
    let host = try node.text("host")
    guard Self.isName(host) else { throw LeaseRecordError(message: "\(host.escaped) is no host") }
    let id = try node.text("id")
    guard Self.isID(id) else { throw LeaseRecordError(message: "the id of \(host) is none") }
    self.init(
      host: host, id: id, machine: try node.text("machine"), boot: try node.text("boot"),
      pid: try node.integer("pid", 0...Int(Int32.max)),
      start: try node.integer("start", 0...Int.max), label: try node.text("label"),
      uid: try node.integer("uid", 0...Int(UInt32.max)), unit: try node.text("unit"),
      since: try node.integer("since", 0...Int(UInt32.max) << 4))
  }

  /// Whether a text can be the id of an acquisition.
  package static func isID(_ text: String) -> Bool { Instance(text) != nil }
}

extension JSONNode {
  nonisolated fileprivate func text(_ name: String) throws(LeaseRecordError) -> String {
    guard let text = self[name]?.string, text.utf8.count <= LeaseOwner.textMax else {
      throw LeaseRecordError(message: "\"\(name)\" is not a text of at most \(LeaseOwner.textMax) bytes")
    }
    return text
  }

  nonisolated fileprivate func integer(
    _ name: String, _ range: ClosedRange<Int>
  ) throws(LeaseRecordError) -> Int {
    guard let number = self[name]?.integer, range.contains(number) else {
      throw LeaseRecordError(
        message: "\"\(name)\" is not a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
