// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
package import TribuneWire

package struct FrameReply {
  /// The reply without its final zero byte; nil if the client gets no reply.
  package let message: String?
  package let isLast: Bool
  /// True if the bus must close the connection after this reply: one registration of the call has ended, but
  /// others can still exist, and end only with the connection.
  package var endsConnection = false

  package struct Context {
    package let connection: ConnectionID
    package let secret: UInt64
    package let isInCall: Bool
    /// In nanoseconds of the host's monotonic clock.
    package let now: UInt64
    package let peer: (ConnectionID) -> PeerIdentity?

    package init(
      connection: ConnectionID, secret: UInt64, isInCall: Bool, now: UInt64,
      peer: @escaping (ConnectionID) -> PeerIdentity?
    ) {
      (self.connection, self.secret) = (connection, secret)
      (self.isInCall, self.now, self.peer) = (isInCall, now, peer)
    }
  }

  private typealias Members = [(name: String, value: JSONValue)]

  private static let nothing = FrameReply(message: nil, isLast: false)

  private init(message: String?, isLast: Bool) { (self.message, self.isLast) = (message, isLast) }

  private init(more parameters: Members) {
    message = JSONValue.object([("parameters", .object(parameters)), ("continues", .bool(true))]).compact
    isLast = false
  }

  private init(last parameters: Members) {
    message = JSONValue.object([("parameters", .object(parameters))]).compact
    isLast = true
  }

  private init(_ error: VarlinkError) {
    message = error.reply
    isLast = true
  }

  package init(_ frame: FrameView, in context: Context) throws(WireError) {
    let call = CallID(serial: frame.header.serial)
    self =
      switch frame.header.kind {
      case .ok: try Self.okay(frame, call, in: context)
      case .error: try Self.refusal(frame, call, in: context)
      case .verdict: try Self.verdict(frame)
      case .progress: try Self.progress(frame, call)
      case .awaited: try Self.awaited(frame)
      case _ where !context.isInCall: .nothing
      case .post, .retained: try Self.notification(frame, in: context)
      case .lost:
        Self(more: [("kind", .string("lost")), ("lost", .unsigned(try frame.decode(Lost.self).count))])
      case .question: try Self.question(frame, in: context)
      case .concluded: try Self.conclusion(frame, in: context)
      case .ended: try Self.end(frame, call)
      default: .nothing
      }
  }

  // MARK: Answers to frames

  private static func okay(
    _ frame: FrameView, _ call: CallID?, in context: Context
  ) throws(WireError) -> FrameReply {
    guard let call else { return .nothing }
    switch call.method {
    case .madeReply: return FrameReply(message: String(repairing: frame.payload), isLast: true)
    case .tell: return FrameReply(last: [])
    case .observe, .delegate: return call.isLast ? FrameReply(more: [("kind", .string("ready"))]) : .nothing
    case .hold:
      let okay = try frame.decode(Okay.self)
      var members: Members = [("hold", .unsigned(okay.delegate))]
      if okay.expiry > 0 {
        let left = okay.expiry - min(context.now, okay.expiry)
        members.append(("expiresInSec", .seconds(.nanoseconds(Int64(clamping: left)))))
      }
      return FrameReply(more: members)
    case .ask, .takeBack: return .nothing
    }
  }

  private static func refusal(
    _ frame: FrameView, _ call: CallID?, in context: Context
  ) throws(WireError) -> FrameReply {
    if frame.header.serial == 0, !context.isInCall { return .nothing }
    if case .takeBack = call?.method { return .nothing }
    // A one-way call gets no reply. The client would take this refusal for the reply to its next call.
    if call?.isOneway == true { return .nothing }
    let refusal = try frame.decode(Refusal.self)
    let error = WireError(refusal.code ?? .invalidValue, String(repairing: frame.payload))
    return FrameReply(.refused(error))
  }

  private static func verdict(_ frame: FrameView) throws(WireError) -> FrameReply {
    let verdict = try frame.decode(Verdict.self)
    var space = Self.contentMax
    let similar: Members =
      verdict.similarName.isEmpty ? [] : [("similarName", .string(verdict.similarName))]
    return FrameReply(
      last: [
        ("verdict", .string("\(verdict.verdict)")), ("query", .string("\(verdict.query.rawValue)")),
        ("outcomes", .array(verdict.outcomes.map { .object(Self.outcome($0, &space)) })),
        ("omitted", .integer(Int(verdict.omittedCount))), ("unanswered", .bool(verdict.isUnanswered)),
        ("overridden", .bool(verdict.isOverridden)),
      ] + similar)
  }

  private static func outcome(_ outcome: Outcome, _ space: inout Int) -> Members {
    var members: Members = [
      ("label", .string(outcome.delegate.label)), ("outcome", .string("\(outcome.outcome)")),
    ]
    if !outcome.reason.isEmpty { members.append(("reason", .string(outcome.reason))) }
    let value = outcome.value.rawBytes
    members += content(value, "value", within: space)
    space -= min(space, value.escapedLength(isString: true, within: space))
    members.append(("elapsedUSec", .unsigned(outcome.elapsed)))
    members.append(("peer", peer(outcome.delegate.peer)))
    return members
  }

  private static func progress(_ frame: FrameView, _ call: CallID?) throws(WireError) -> FrameReply {
    // The bus sends `progress` for a `defer` even to askers that did not ask for progress.
    guard call?.takesMore == true else { return .nothing }
    let progress = try frame.decode(Progress.self)
    let outcome = progress.stage == .settled ? "\(progress.outcome)" : "\(progress.stage)"
    var members: Members = [("label", .string(progress.delegate.label)), ("outcome", .string(outcome))]
    if frame.payload.byteCount > 0 { members.append(("reason", .string(String(repairing: frame.payload)))) }
    members.append(("peer", peer(progress.delegate.peer)))
    return FrameReply(more: [
      ("query", .string("\(progress.query.rawValue)")), ("outcomes", .array([.object(members)])),
    ])
  }

  private static func awaited(_ frame: FrameView) throws(WireError) -> FrameReply {
    let awaited = try frame.decode(Awaited.self)
    let missing = awaited.missing.map { observer -> JSONValue in
      var members: Members = [("label", .string("")), ("outcome", .string("\(observer.failure)"))]
      if !observer.reason.isEmpty { members.append(("reason", .string(observer.reason))) }
      members.append(("elapsedUSec", .unsigned(observer.elapsed)))
      members.append(("peer", peer(observer.peer)))
      return .object(members)
    }
    return FrameReply(last: [("missing", .array(missing))])
  }

  // MARK: Notifications and questions

  private static func notification(_ frame: FrameView, in context: Context) throws(WireError) -> FrameReply {
    var members = Self.subject("notification", frame)
    if let sender = context.peer(frame.header.sender) { members.append(("sender", peer(sender))) }
    switch frame.header.kind {
    case .retained: members.append(("ageUSec", .unsigned(try frame.decode(Retained.self).age)))
    case .post where try frame.decode(Post.self).options.contains(.awaited):
      let ticket = Ticket(
        connection: context.connection, secret: context.secret,
        .notification(from: frame.header.sender, frame.header.serial))
      members.append(("ticket", .string(ticket.text)))
    default: break
    }
    return FrameReply(more: members)
  }

  private static func question(_ frame: FrameView, in context: Context) throws(WireError) -> FrameReply {
    let question = try frame.decode(Question.self)
    var members = Self.subject("question", frame)
    members.append(("ticket", .string(ticket(question.query, question.delegate, in: context))))
    members.append(("asker", peer(question.asker)))
    members.append(("timeoutSec", .seconds(.milliseconds(question.timeout))))
    members.append(("dryRun", .bool(question.isDryRun)))
    members.append(("wantsValue", .bool(question.wantsValue)))
    return FrameReply(more: members)
  }

  private static func conclusion(_ frame: FrameView, in context: Context) throws(WireError) -> FrameReply {
    let concluded = try frame.decode(Concluded.self)
    return FrameReply(more: [
      ("kind", .string("concluded")),
      ("ticket", .string(ticket(concluded.query, concluded.delegate, in: context))),
      ("conclusion", .string("\(concluded.conclusion)")),
    ])
  }

  private static func ticket(_ query: QueryID, _ delegate: DelegateID, in context: Context) -> String {
    Ticket(connection: context.connection, secret: context.secret, .question(query, delegate)).text
  }

  private static func end(_ frame: FrameView, _ call: CallID?) throws(WireError) -> FrameReply {
    let ended = try frame.decode(Ended.self)
    let why =
      switch ended {
      case .replaced(let other): "replaced by \(other.delegate.label)"
      case .expired: "expired"
      case .notPermitted(let reason): reason
      }
    switch call?.method {
    case .delegate: return FrameReply(last: [("kind", .string("ended")), ("why", .string(why))])
    case .hold: return FrameReply(last: [("why", .string(why))])
    default:
      var reply = FrameReply(.refused(WireError(.notPermitted, why)))
      reply.endsConnection = true
      return reply
    }
  }

  // MARK: Parts

  private static func subject(_ kind: String, _ frame: FrameView) -> Members {
    var members: Members = [("kind", .string(kind)), ("name", .string(String(repairing: frame.name)))]
    if frame.object.byteCount > 0 { members.append(("object", .string(String(repairing: frame.object)))) }
    return members + content(frame.payload, "userInfo")
  }

  /// The most bytes of userInfo or values in one reply, including JSON escapes.
  private static let contentMax = VarlinkCall.lengthMax

  /// Makes the member for userInfo or a value. If the content is a JSON object, the member is called `name`.
  /// Other content goes into the member `text`, because clients with strict types accept only objects in
  /// `name`. If the content is longer than `space`, the member is `omittedBytes`, with the content's length.
  private static func content(_ bytes: RawSpan, _ name: String, within space: Int = contentMax) -> Members {
    guard bytes.byteCount > 0 else { return [] }
    guard bytes.escapedLength(isString: false, within: space) <= space,
      bytes.firstVisible == UInt8(ascii: "{")
    else {
      return text(bytes, within: space)
    }
    do throws(JSONText.SyntaxError) {
      return [(name, .text(try JSONText(bounded: [UInt8](bytes))))]
    } catch {
      return text(bytes, within: space)
    }
  }

  private static func text(_ bytes: RawSpan, within space: Int) -> Members {
    guard bytes.escapedLength(isString: true, within: space) <= space else {
      return [("omittedBytes", .integer(bytes.byteCount))]
    }
    return [("text", .string(String(repairing: bytes)))]
  }

  private static func peer(_ peer: PeerIdentity) -> JSONValue {
    .object([
      ("pid", .integer(Int(peer.pid))), ("uid", .integer(Int(peer.uid))), ("process", .string(peer.process)),
      ("systemUnit", .string(peer.units.system)), ("userUnit", .string(peer.units.user)),
    ])
  }
}

extension RawSpan {
  /// The approximate length with JSON escapes. If the number of bytes already exceeds `space`, returns that
  /// number. Invalid UTF-8 can make the actual length three times the returned one.
  fileprivate func escapedLength(isString: Bool, within space: Int) -> Int {
    guard byteCount <= space else { return byteCount }
    var length = byteCount
    var last: UInt8 = 0
    for index in 0..<byteCount {
      let byte = integer(at: index, as: UInt8.self)
      switch (last, byte) {
      case (_, 0x09), (_, 0x0A), (_, 0x0D), (_, UInt8(ascii: "\"")), (_, UInt8(ascii: "\\")):
        if isString { length += 1 }
      case (_, 0..<0x20), (_, 0x7F): length += 5
      case (0xC2, 0x80...0x9F), (0xD8, 0x9C): length += 4
      case (0xE2, 0x80...0x81): length += 3
      default: break
      }
      last = byte
    }
    return length
  }

  fileprivate var firstVisible: UInt8? {
    for index in 0..<byteCount {
      let byte = integer(at: index, as: UInt8.self)
      if ![0x20, 0x09, 0x0A, 0x0D].contains(byte) { return byte }
    }
    return nil
  }
}
