// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

/// A local program's value query about a lease. The query's object is the name of the lease.
nonisolated enum LeaseRequest: Equatable, Sendable {
  case acquire(id: String, slots: Int, label: String)
  case release(id: String?)
  case remove(host: String, why: String)
  case list

  struct Mistake: Error, Equatable {
    let message: String
  }

  static let names = [
    "cluster.lease.acquire", "cluster.lease.release", "cluster.lease.break", "cluster.lease.list",
  ]

  init(_ question: Tribune.Question) throws(Mistake) {
    guard question.name.hasSuffix(".list") || NameSyntax.isName(question.object.utf8Bytes) else {
      throw Mistake(message: "the object is not the name of a lease")
    }
    let bytes = question.userInfo.isEmpty ? Array("{}".utf8) : question.userInfo.bytes
    let root: JSONNode
    do throws(JSONText.SyntaxError) {
      root = try JSONDocument(bytes.rawBytes).root
    } catch {
      throw Mistake(message: "the userInfo is not JSON: \(error)")
    }
    switch question.name {
    case Self.names[0]:
      guard let id = root["id"]?.string, LeaseOwner.isID(id) else {
        throw Mistake(message: "\"id\" is not 32 hexadecimal digits")
      }
      let slots = root["slots"].map(\.integer) ?? 1
      guard let slots, (1...LeaseRecord.slotsMax).contains(slots) else {
        throw Mistake(message: "\"slots\" is not a number from 1 to \(LeaseRecord.slotsMax)")
      }
      let label = (root["label"]?.string ?? "").prefix(utf8Length: LeaseOwner.textMax)
      self = .acquire(id: id, slots: slots, label: label)
    case Self.names[1]:
      let id = root["id"]?.string
      // Without an id, the request releases any acquisition of this host.
      guard root["id"].map({ _ in id.map(LeaseOwner.isID) ?? false }) ?? true else {
        throw Mistake(message: "\"id\" is not 32 hexadecimal digits")
      }
      self = .release(id: id)
    case Self.names[2]:
      guard let host = root["host"]?.string, LeaseOwner.isName(host) else {
        throw Mistake(message: "\"host\" is not the name of a host, nor of a client of FleetLock")
      }
      guard let why = root["why"]?.string, !why.allSatisfy(\.isWhitespace) else {
        throw Mistake(message: "\"why\" does not say why")
      }
      self = .remove(host: host, why: why.prefix(utf8Length: WireLimits.reasonLength))
    default: self = .list
    }
  }
}
