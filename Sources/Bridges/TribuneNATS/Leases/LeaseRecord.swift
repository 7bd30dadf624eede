// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
import TribuneWire

/// The owners of a lease, as NATS stores them. A host or a FleetLock client owns a lease at most once.
nonisolated struct LeaseRecord: Equatable, Sendable {
  static let slotsMax = 64

  enum Change: Equatable, Sendable {
    /// - Parameter slots: how many owners the lease may have at a time.
    case acquire(LeaseOwner, slots: Int)
    /// - Parameter id: the acquisition to release; nil for any.
    case release(host: String, machine: String, id: String?)
    /// Breaks the lease: any host can remove the owner, even while the owner's command runs.
    case remove(host: String, id: String?)

    var owner: String {
      switch self {
      case .acquire(let owner, _): owner.host
      case .release(let host, _, _), .remove(let host, _): host
      }
    }

    func only(_ id: String) -> Change {
      switch self {
      case .acquire: self
      case .release(let host, let machine, _): .release(host: host, machine: machine, id: id)
      case .remove(let host, _): .remove(host: host, id: id)
      }
    }
  }

  enum Effect: Equatable, Sendable {
    /// The owner was added or removed. `before` is the owner's entry before this change.
    case changed(LeaseOwner, before: LeaseOwner?)
    /// Others have all slots, or a running command of the same host has the lease.
    case busy
    /// The owner to be removed does not have the lease, or has it by another acquisition.
    case absent
    case refused(String)
  }

  var slots = 1
  var owners: [LeaseOwner] = []

  /// - Parameter isRunning: called only for an earlier acquisition by the same owner. Returns true if the
  ///   process of that acquisition still runs.
  mutating func apply(_ change: Change, isRunning: (LeaseOwner) -> Bool) -> Effect {
    switch change {
    case .acquire(let owner, let slots): acquire(owner, slots, isRunning)
    case .release(let host, let machine, let id): release(host, machine, id, isRunning)
    case .remove(let host, let id): remove(host, id)
    }
  }

  private mutating func acquire(
    _ owner: LeaseOwner, _ slots: Int, _ isRunning: (LeaseOwner) -> Bool
  ) -> Effect {
    let others = owners.filter { $0.host != owner.host }
    let own = owners.first { $0.host == owner.host }
    guard others.isEmpty || slots == self.slots else {
      return .refused(
        "it has \(self.slots == 1 ? "1 slot" : "\(self.slots) slots") as long as \(others[0].host) has it")
    }
    var owner = owner
    if let own {
      guard own.machine == owner.machine else { return Self.isOfAnother(own) }
      guard own.id == owner.id || !isRunning(own) else { return .busy }
      owner.since = own.since
    } else if others.count >= slots {
      return .busy
    }
    self.slots = slots
    owners = others + [owner]
    return .changed(owner, before: own)
  }

  private mutating func release(
    _ host: String, _ machine: String, _ id: String?, _ isRunning: (LeaseOwner) -> Bool
  ) -> Effect {
    guard let own = place(of: host, id).map({ owners[$0] }) else { return .absent }
    guard own.machine == machine else { return Self.isOfAnother(own) }
    if id == nil, isRunning(own) {
      return .refused("process \(own.pid) (\(own.label)) on this host still runs under it")
    }
    return remove(host, id)
  }

  private static func isOfAnother(_ owner: LeaseOwner) -> Effect {
    .refused(
      "another machine has it that is called \(owner.host), too, or this one had another machine-id(5)")
  }

  private mutating func remove(_ host: String, _ id: String?) -> Effect {
    guard let index = place(of: host, id) else { return .absent }
    let owner = owners.remove(at: index)
    return .changed(owner, before: owner)
  }

  private func place(of host: String, _ id: String?) -> Int? {
    owners.firstIndex { $0.host == host && (id ?? $0.id) == $0.id }
  }
}

/// A host or a FleetLock client that has the lease.
nonisolated struct LeaseOwner: Equatable, Sendable {
  /// The limit of each text, in bytes.
  static let textMax = 255

  var host: String
  /// 32 hexadecimal digits, which differ in each acquisition.
  var id: String
  /// Distinguishes machines with the same host name; empty for a FleetLock client.
  var machine = ""
  var boot: String
  /// The process that has the lease; 0 for none.
  var pid = 0
  /// When the process started, in ticks since boot; 0 if unknown.
  var start = 0
  /// Decisions use neither this field nor the following ones.
  var label = ""
  var uid = 0
  var unit = ""
  /// In seconds since 1970, by the owner's own clock.
  var since = 0

  static func isName(_ text: String) -> Bool {
    Subjects.isToken(text) || FleetLockClient.isOwner(text)
  }
}

/// The record is invalid. Any client with write access may have written it.
nonisolated struct LeaseRecordError: Error, Equatable {
  let message: String
}

nonisolated extension LeaseRecord {
  static let lengthMax = 64 << 10
  private static let version = 1

  /// Throws for an invalid record: an unreadable lease must never seem free.
  init(_ bytes: [UInt8]) throws(LeaseRecordError) {
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

  var bytes: [UInt8] {
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

  static func isID(_ text: String) -> Bool { Instance(text) != nil }
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
