// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
package import TribuneWire

package enum TranslatedCall {
  case frames(ByteBuffer)
  /// The reply without its final zero byte; nil if the client wants no reply.
  case reply(String?)
  /// The frame answers the ticket's request, or asks for more time. The bus handles the frame as if the
  /// connection in the ticket had sent it.
  case answer(Ticket, ByteBuffer, isOneway: Bool)
}

extension VarlinkCall {
  package static let emptyReply = JSONValue.object([("parameters", .object([]))]).compact

  /// - Parameter now: the current time in nanoseconds of the monotonic clock. Each call of a connection must
  ///   have a different time.
  package func translated(at now: UInt64) -> TranslatedCall {
    do throws(VarlinkError) {
      guard !wantsUpgrade else { throw .methodNotImplemented(method) }
      return try dispatched(at: now)
    } catch {
      return .reply(isOneway ? nil : error.reply)
    }
  }

  private func dispatched(at now: UInt64) throws(VarlinkError) -> TranslatedCall {
    guard let dot = method.lastIndex(of: ".") else { throw .interfaceNotFound(method) }
    var parameters = Parameters(self)
    switch (method[..<dot], method[method.index(after: dot)...]) {
    case (VarlinkInterface.service[...], "GetInfo"):
      try parameters.requireNoOthers()
      return reply(VarlinkInterface.info)
    case (VarlinkInterface.service[...], "GetInterfaceDescription"):
      let name = try parameters.text("interface")
      try parameters.requireNoOthers()
      guard let text = VarlinkInterface.description(of: name) else { throw .interfaceNotFound(name) }
      return reply(.object([("description", .string(text))]))
    case (VarlinkInterface.bus[...], "Tell"): return try tell(&parameters, at: now)
    case (VarlinkInterface.bus[...], "Ask"): return try ask(&parameters)
    case (VarlinkInterface.bus[...], "Observe"): return try observe(&parameters)
    case (VarlinkInterface.bus[...], "Delegate"): return try delegate(&parameters)
    case (VarlinkInterface.bus[...], "Hold"): return try hold(&parameters, at: now)
    case (VarlinkInterface.bus[...], "Answer"): return try answer(&parameters)
    case (VarlinkInterface.bus[...], "Defer"): return try deferral(&parameters)
    case (VarlinkInterface.bus[...], _), (VarlinkInterface.service[...], _): throw .methodNotFound(method)
    case (let interface, _): throw .interfaceNotFound(String(interface))
    }
  }

  private func reply(_ parameters: JSONValue) -> TranslatedCall {
    .reply(isOneway ? nil : JSONValue.object([("parameters", parameters)]).compact)
  }

  // MARK: Notifications

  private func tell(_ parameters: inout Parameters, at now: UInt64) throws(VarlinkError) -> TranslatedCall {
    let (name, object) = (try parameters.name(), try parameters.object())
    let userInfo = try parameters.userInfo("userInfo")
    var post = Post()
    if try parameters.flag("retain") { post.options.insert(.retain) }
    // A one-way call gets no reply, so it does not wait for observers.
    if let deadline = try parameters.milliseconds("awaitSec"), !isOneway {
      post.options.insert(.awaited)
      post.deadline = max(1, deadline)
    }
    try parameters.requireNoOthers()
    let frame = ByteBuffer(capacity: 64 + userInfo.count)
    frame.appendFrame(
      post, flags: isOneway || post.options.contains(.awaited) ? [] : .acknowledge,
      serial: CallID(.tell, isOneway: isOneway, at: now).serial, name: name, object: object,
      payload: userInfo.rawBytes
    )
    return .frames(frame)
  }

  private func observe(_ parameters: inout Parameters) throws(VarlinkError) -> TranslatedCall {
    let patterns = try parameters.texts("patterns") ?? ["**"]
    let object = try parameters.object()
    var observe = Observe()
    if try parameters.flag("retained") { observe.options.insert(.retained) }
    if try parameters.flag("awaited") { observe.options.insert(.awaited) }
    try parameters.requireNoOthers()
    guard (1...Self.patternsMax).contains(patterns.count),
      patterns.allSatisfy({ $0.fits(WireLimits.nameLength) })
    else { throw .invalidParameter("patterns") }
    try requireMore()
    let frames = ByteBuffer(capacity: 64 * patterns.count)
    for (index, pattern) in patterns.enumerated() {
      frames.appendFrame(
        observe, serial: CallID(.observe, index: index, of: patterns.count).serial, name: pattern,
        object: object)
    }
    return .frames(frames)
  }

  /// Each pattern needs a frame, and a `CallID` counts the frames in 8 bits.
  private static let patternsMax = 128

  /// Throws unless the call has `more`. Without `more`, the first reply would end the call's registrations.
  private func requireMore() throws(VarlinkError) { guard takesMore else { throw .expectedMore } }

  // MARK: Delegation

  private func ask(_ parameters: inout Parameters) throws(VarlinkError) -> TranslatedCall {
    let (name, object) = (try parameters.name(), try parameters.object())
    let userInfo = try parameters.userInfo("userInfo")
    var ask = Ask()
    ask.mode = try parameters.word("mode", QueryMode.self) ?? .parallel
    ask.fallback = try parameters.word("fallback", VerdictKind.self) ?? .allowed
    ask.deadline = try parameters.positiveMilliseconds("deadlineSec") ?? 0
    if try parameters.flag("dryRun") { ask.flags.insert(.isDryRun) }
    if let reason = try parameters.optionalText("override") {
      ask.flags.insert(.overrides)
      ask.overrideReason = reason
    }
    if takesMore { ask.flags.insert(.wantsProgress) }
    try parameters.requireNoOthers()
    guard ask.overrideReason.fits(WireLimits.reasonLength) else { throw .invalidParameter("override") }
    guard !isOneway else { return .reply(nil) }
    let frame = ByteBuffer(capacity: 64 + userInfo.count)
    frame.appendFrame(
      ask, serial: CallID(.ask, takesMore: takesMore).serial, name: name, object: object,
      payload: userInfo.rawBytes)
    return .frames(frame)
  }

  private func delegate(_ parameters: inout Parameters) throws(VarlinkError) -> TranslatedCall {
    guard let names = try parameters.texts("names"), names.allSatisfy({ $0.fits(WireLimits.nameLength) })
    else { throw .invalidParameter("names") }
    var attach = Attach(patterns: names)
    let object = try parameters.object()
    attach.label = try parameters.optionalText("label") ?? ""
    attach.failurePolicy = try parameters.word("onFailure", FailurePolicy.self) ?? .veto
    if let order = try parameters.integer("order") {
      guard let order = Int32(exactly: order) else { throw .invalidParameter("order") }
      attach.order = order
    }
    attach.timeout = try parameters.positiveMilliseconds("timeoutSec") ?? 0
    attach.protocols = try parameters.texts("protocols") ?? []
    try parameters.requireNoOthers()
    guard attach.label.fits(WireLimits.labelLength) else { throw .invalidParameter("label") }
    guard attach.protocols.allSatisfy({ $0.fits(WireLimits.protocolNameLength) }) else {
      throw .invalidParameter("protocols")
    }
    try requireMore()
    let frame = ByteBuffer(capacity: 256)
    frame.appendFrame(attach, serial: CallID(.delegate).serial, object: object)
    return .frames(frame)
  }

  private func hold(_ parameters: inout Parameters, at now: UInt64) throws(VarlinkError) -> TranslatedCall {
    let (name, object) = (try parameters.name(), try parameters.object())
    let why = try parameters.text("why")
    let label = try parameters.optionalText("label") ?? ""
    let expiry = try parameters.milliseconds("expirySec").map { now + UInt64($0) * 1_000_000 } ?? 0
    try parameters.requireNoOthers()
    guard label.fits(WireLimits.labelLength) else { throw .invalidParameter("label") }
    // Refuse an empty name: it probably comes from an unset variable. To hold every name, clients write `**`.
    guard !name.isEmpty else { throw .invalidParameter("name") }
    try requireMore()
    let frame = ByteBuffer(capacity: 64 + why.utf8.count)
    frame.appendFrame(
      Hold(expiry: expiry, label: label), serial: CallID(.hold).serial, name: name, object: object, text: why)
    return .frames(frame)
  }

  private func answer(_ parameters: inout Parameters) throws(VarlinkError) -> TranslatedCall {
    let ticket = try parameters.ticket()
    guard let answer = try parameters.word("answer", TicketAnswer.self) else {
      throw .invalidParameter("answer")
    }
    let reason = try parameters.optionalText("reason") ?? ""
    let value = try parameters.userInfo("value")
    try parameters.requireNoOthers()
    let frame = ByteBuffer(capacity: 64 + value.count + reason.utf8.count)
    switch ticket.request {
    case .notification(let poster, let serial):
      guard answer == .done || answer == .failed else { throw .invalidParameter("answer") }
      let done = Done(poster: poster, post: serial, hasFailed: answer == .failed)
      frame.appendFrame(done, serial: CallID(.takeBack).serial, text: reason)
    case .question(let query, let delegate):
      guard let kind = answer.kind else { throw .invalidParameter("answer") }
      let fields = Answer(query: query, delegate: delegate, answer: kind)
      if kind == .value {
        frame.appendFrame(fields, serial: CallID(.takeBack).serial, payload: value.rawBytes)
      } else {
        frame.appendFrame(fields, serial: CallID(.takeBack).serial, text: reason)
      }
    }
    return .answer(ticket, frame, isOneway: isOneway)
  }

  private func deferral(_ parameters: inout Parameters) throws(VarlinkError) -> TranslatedCall {
    let ticket = try parameters.ticket()
    guard let extra = try parameters.milliseconds("extensionSec") else {
      throw .invalidParameter("extensionSec")
    }
    let status = try parameters.optionalText("status") ?? ""
    try parameters.requireNoOthers()
    guard case .question(let query, let delegate) = ticket.request else { throw .invalidParameter("ticket") }
    let frame = ByteBuffer(capacity: 64 + status.utf8.count)
    frame.appendFrame(
      Defer(query: query, delegate: delegate, extension: extra), serial: CallID(.takeBack).serial,
      text: status)
    return .answer(ticket, frame, isOneway: isOneway)
  }
}

private enum TicketAnswer: CaseIterable {
  case approve, veto, abstain, failed, value, done

  /// Nil for `done`, which answers a notification, not a question.
  var kind: AnswerKind? {
    switch self {
    case .approve: .approve
    case .veto: .veto
    case .abstain: .abstain
    case .failed: .failed
    case .value: .value
    case .done: nil
    }
  }
}

extension Parameters {
  /// The bus validates the name later. Here, the name only has to fit into a frame.
  fileprivate mutating func name() throws(VarlinkError) -> String {
    let name = try text("name")
    guard name.fits(WireLimits.nameLength) else { throw .invalidParameter("name") }
    return name
  }

  fileprivate mutating func object() throws(VarlinkError) -> String {
    let object = try optionalText("object") ?? ""
    guard object.fits(WireLimits.objectLength) else { throw .invalidParameter("object") }
    return object
  }

  fileprivate mutating func ticket() throws(VarlinkError) -> Ticket {
    guard let ticket = Ticket(try text("ticket")) else { throw .invalidParameter("ticket") }
    return ticket
  }
}

extension String {
  fileprivate func fits(_ length: Int) -> Bool { utf8.count <= length }
}
