// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension FrameView {
  func summary() throws(WireError) -> String {
    switch header.kind {
    case .welcome:
      let welcome = try decode(Welcome.self)
      return "\(welcome.connection) by \(welcome.software)"
    case .ok: return try decode(Okay.self).summary
    case .observe: return try decode(Observe.self).summary
    case .attach: return try decode(Attach.self).summary
    case .cancel: return "serial \(try decode(Cancel.self).target)"
    case .amend: return "serial \(try decode(Amend.self).target)"
    case .list:
      let list = try decode(List.self)
      return "\(list.subject)" + (list.connection == 0 ? "" : " of :\(list.connection)")
    case .entry: return try decode(Entry.self).summary
    case .hold: return try decode(TribuneWire.Hold.self).expiry == 0 ? "" : "expires"
    case .ended:
      switch try decode(Ended.self) {
      case .expired: return "expired"
      case .notPermitted(let why): return why
      case .replaced(let entry): return "replaced by \(entry.summary)"
      }
    case .declare:
      let name = try decode(Declare.self).protocolName
      return name.isEmpty ? "" : "protocol \(name)"
    case .suspend: return try decode(Suspend.self).isSuspended ? "suspends" : "resumes"
    case .retained:
      return "posted \(TimeSpan(microseconds: Int64(clamping: try decode(Retained.self).age))) ago"
    case .done:
      let done = try decode(Done.self)
      return "post \(done.post) of \(done.poster)\(done.hasFailed ? ", with a failure" : "")"
    case .awaited: return try decode(Awaited.self).summary
    case .succeed:
      let succeed = try decode(Succeed.self)
      return "\(succeed.predecessor), which received \(succeed.received.counted("notification"))"
    case .poster:
      let facts = try decode(PosterFacts.self)
      return "\(facts.connection) is \(facts.peer.process) \(facts.peer.pid)"
    case .begin:
      let query = try decode(Begin.self).query.rawValue
      return query == 0 ? "has begun" : "moves action \(query)"
    case .late:
      let late = try decode(Late.self)
      return "hold \(late.delegate.rawValue) for \(late.actions)"
    case .pace:
      let limit = try decode(TribuneWire.Pace.self).limit
      return limit == .max ? "for ever" : limit == 0 ? "as set" : "\(limit)ms"
    case .room: return "up to \(try decode(Room.self).limit)"
    case .traffic: return "traffic"
    case .post, .error, .lost, .ask, .question, .answer, .defer, .progress, .verdict, .concluded, .monitor,
      nil:
      return ""
    }
  }
}

extension Post {
  var wishes: [String] {
    var wishes: [String] = []
    switch style {
    case .now: break
    case .asSoonAsPossible: wishes.append("as soon as possible")
    case .whenIdle: wishes.append("when idle")
    }
    if options.contains(.coalesceByName) { wishes.append("coalesced by name") }
    if options.contains(.coalesceByObject) { wishes.append("coalesced by object") }
    if options.contains(.immediately) { wishes.append("immediately") }
    if options.contains(.retain) { wishes.append("retained") }
    if options.contains(.bound) { wishes.append("bound") }
    if options.contains(.awaited) { wishes.append("awaited") }
    if length > 0 { wishes.append("\(length) bytes in a descriptor") }
    return wishes
  }
}

extension Okay {
  fileprivate var summary: String {
    [
      registration == 0 ? nil : "registered as \(registration)", delegate == 0 ? nil : "delegate \(delegate)",
      late == 0 ? nil : "too late for \(late)", expiry == 0 ? nil : "expires",
    ].compactMap { $0 }.joined(separator: ", ")
  }
}

extension Observe {
  fileprivate var summary: String {
    [
      options.contains(.retained) ? "with retained notifications" : nil,
      options.contains(.awaited) ? "awaited" : nil,
      suspension == .coalesce ? nil : "\(suspension) in suspension",
    ].compactMap { $0 }.joined(separator: ", ")
  }
}

extension Attach {
  fileprivate var summary: String {
    var parts = ["responds to \(patterns.joined(separator: " "))"]
    if !label.isEmpty { parts.append("labelled \(label)") }
    if order != 0 { parts.append("order \(order)") }
    if failurePolicy != .veto { parts.append("\(failurePolicy) on failure") }
    if timeout != 0 { parts.append("within \(TimeSpan(microseconds: Int64(timeout) * 1000))") }
    if isSet { parts.append("replaces other delegates") }
    if !protocols.isEmpty { parts.append("conforms to \(protocols.joined(separator: " "))") }
    return parts.joined(separator: ", ")
  }
}

extension Entry {
  fileprivate var summary: String {
    switch self {
    case .bus(let entry): "bus \(entry.pid) at \(entry.address)"
    case .connection(let entry): "connection \(entry.id), \(entry.peer.process) \(entry.peer.pid)"
    case .observation(let entry): "observation of \(entry.pattern) by \(entry.connection)"
    case .delegate(let entry): entry.summary
    case .hold(let entry): "hold of \(entry.pattern) by \(entry.connection): \(entry.why)"
    case .missing(let entry): "missing delegate \(entry.name)"
    case .object(let entry): "object \(entry.object)"
    case .protocol(let entry): "protocol \(entry.name)"
    case .member(let entry): "member \(entry.name)"
    case .retained(let entry): "retained \(entry.name) \(entry.object)"
    case .access(let entry): "access \(entry.decision)"
    case .nearMiss(let entry): "near miss \(entry.line.file):\(entry.line.number)"
    case .ending(let entry): "ending of \(entry.connection)"
    case .departed(let entry): "connection \(entry.id), which has gone"
    case .query(let entry): "query \(entry.id.rawValue) of \(entry.connection)"
    case .name(let entry): entry.name.isEmpty ? "other names" : "name \(entry.name)"
    case .participant(let entry): "\(entry.role)s of user \(entry.uid)"
    case .user(let entry): "user \(entry.uid)"
    case .verdict(let entry): "verdict asked by \(entry.connection)"
    case .account(let entry): "account of \(entry.uid), \(entry.resource)"
    }
  }
}

extension DelegateEntry {
  fileprivate var summary: String {
    "delegate \(delegate.id.rawValue)\(delegate.label.isEmpty ? "" : " \(delegate.label)") of \(connection)"
  }
}

extension Awaited {
  fileprivate var summary: String {
    let missing = missing.map { missing in
      "; \(missing.failure) \(missing.connection)" + (missing.reason.isEmpty ? "" : ": \(missing.reason)")
    }
    return "\(acknowledged) acknowledged" + missing.joined()
  }
}
