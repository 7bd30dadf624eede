// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Why a message of another host is dropped.
nonisolated package struct EnvelopeError: Error, Equatable {
  package let message: String
}

/// A gateway's process, as other hosts distinguish it from the ones before it.
nonisolated package struct Instance: Hashable, Sendable {
  package let text: String

  /// A new one.
  package init() {
    func half() -> String {
      let digits = String(UInt64.random(in: 0...UInt64.max), radix: 16)
      return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
    text = half() + half()
  }

  init?(_ text: String) {
    func isDigit(_ byte: UInt8) -> Bool {
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
    guard text.utf8.count == 32, text.utf8.allSatisfy(isDigit) else { return nil }
    self.text = text
  }
}

/// Which one of an instance's exports a notification is.
nonisolated package struct ExportNumber: Equatable, Sendable {
  /// Among all, from 1.
  package var sequence: UInt64
  /// Among those of its name, from 1.
  package var count: UInt64

  package init(sequence: UInt64, count: UInt64) {
    self.sequence = sequence
    self.count = count
  }
}

/// What a notification has besides its name and payload.
nonisolated package struct PostEnvelope: Equatable, Sendable {
  package var instance: Instance
  package var number: ExportNumber
  package var object: String
  package var peer: RemotePeer

  package init(
    instance: Instance, number: ExportNumber, object: String, peer: RemotePeer = RemotePeer()
  ) {
    self.instance = instance
    self.number = number
    self.object = object
    self.peer = peer
  }

  package init(_ message: ClusterMessage) throws(EnvelopeError) {
    instance = try message.instance()
    object = try message.object()
    let parts = (message.headers[.number] ?? "").split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let sequence = UInt64(decimal: parts[0]), let count = UInt64(decimal: parts[1]),
      count >= 1, sequence >= count
    else { throw EnvelopeError(message: "has no valid Tribune-Number") }
    number = ExportNumber(sequence: sequence, count: count)
    peer = message.peer
  }

  package var headers: [ClusterMessage.Header: String] {
    var headers: [ClusterMessage.Header: String] = [
      .instance: instance.text, .number: "\(number.sequence)/\(number.count)", .peer: peer.headerText,
    ]
    if !object.isEmpty { headers[.object] = HeaderText.escape(object) }
    return headers
  }
}

/// What a question to a host has besides its name and payload.
nonisolated package struct AskEnvelope: Equatable, Sendable {
  package var instance: Instance
  /// Distinguishes the questions of an instance.
  package var query: UInt64
  package var object: String
  package var wantsValue: Bool
  package var isDryRun: Bool
  /// The time for the answer, or for progress.
  package var timeout: Duration
  package var peer: RemotePeer

  package init(
    instance: Instance, query: UInt64, object: String, wantsValue: Bool, isDryRun: Bool, timeout: Duration,
    peer: RemotePeer = RemotePeer()
  ) {
    self.instance = instance
    self.query = query
    self.object = object
    self.wantsValue = wantsValue
    self.isDryRun = isDryRun
    self.timeout = timeout
    self.peer = peer
  }

  package init(_ message: ClusterMessage) throws(EnvelopeError) {
    instance = try message.instance()
    object = try message.object()
    query = try message.query()
    timeout = try message.timeout()
    peer = message.peer
    switch message.headers[.kind] {
    case "permission": wantsValue = false
    case "value": wantsValue = true
    default: throw EnvelopeError(message: "has no valid Tribune-Kind")
    }
    // Any other value counts as no dry run: that asks for more than was meant, never for less.
    isDryRun = message.headers[.dryRun] == "yes"
  }

  package var headers: [ClusterMessage.Header: String] {
    var headers: [ClusterMessage.Header: String] = [
      .instance: instance.text, .query: "\(query)", .kind: wantsValue ? "value" : "permission",
      .timeout: "\(timeout.roundedMilliseconds)", .peer: peer.headerText,
    ]
    if !object.isEmpty { headers[.object] = HeaderText.escape(object) }
    if isDryRun { headers[.dryRun] = "yes" }
    return headers
  }
}

/// What a host says about a question. A value is the payload.
nonisolated package enum ReplyEnvelope: Equatable, Sendable {
  /// Somebody there needs more time.
  case progress(timeout: Duration, status: String)
  case approve
  case veto(String)
  case abstain
  case failed(String)
  case value

  private static let reasonMax = WireLimits.reasonLength

  package var isObjection: Bool {
    switch self {
    case .veto, .failed: true
    case .progress, .approve, .abstain, .value: false
    }
  }

  package init(_ message: ClusterMessage) throws(EnvelopeError) {
    guard let reason = HeaderText.unescape(message.headers[.reason] ?? "", lengthMax: Self.reasonMax) else {
      throw EnvelopeError(message: "has no valid Tribune-Reason")
    }
    switch message.headers[.kind] {
    case "progress": self = .progress(timeout: try message.timeout(), status: reason)
    case "approve": self = .approve
    case "veto": self = .veto(reason)
    case "abstain": self = .abstain
    case "failed": self = .failed(reason)
    case "value": self = .value
    default: throw EnvelopeError(message: "has no valid Tribune-Kind")
    }
  }

  package var headers: [ClusterMessage.Header: String] {
    let (kind, reason) =
      switch self {
      case .progress(_, let status): ("progress", status)
      case .approve: ("approve", "")
      case .veto(let reason): ("veto", reason)
      case .abstain: ("abstain", "")
      case .failed(let reason): ("failed", reason)
      case .value: ("value", "")
      }
    var headers: [ClusterMessage.Header: String] = [.kind: kind]
    if !reason.isEmpty { headers[.reason] = HeaderText.escape(reason.prefix(utf8Length: Self.reasonMax)) }
    if case .progress(let timeout, _) = self { headers[.timeout] = "\(timeout.roundedMilliseconds)" }
    return headers
  }
}

nonisolated extension ClusterMessage {
  /// The longest time that another host can ask for.
  fileprivate static var timeoutMax: UInt64 { 3_600_000 }

  package func instance() throws(EnvelopeError) -> Instance {
    guard let instance = headers[.instance].flatMap({ Instance($0) }) else {
      throw EnvelopeError(message: "has no valid Tribune-Instance")
    }
    return instance
  }

  package func query() throws(EnvelopeError) -> UInt64 {
    guard let query = headers[.query].flatMap({ UInt64(decimal: $0[...]) }) else {
      throw EnvelopeError(message: "has no valid Tribune-Query")
    }
    return query
  }

  fileprivate var peer: RemotePeer { RemotePeer(headerText: headers[.peer] ?? "") }

  fileprivate func object() throws(EnvelopeError) -> String {
    guard let object = HeaderText.unescape(headers[.object] ?? "", lengthMax: WireLimits.objectLength),
      NameSyntax.isObject(object.utf8Bytes)
    else { throw EnvelopeError(message: "has no valid Tribune-Object") }
    return object
  }

  fileprivate func timeout() throws(EnvelopeError) -> Duration {
    guard let milliseconds = headers[.timeout].flatMap({ UInt64(decimal: $0[...]) }), milliseconds > 0 else {
      throw EnvelopeError(message: "has no valid Tribune-Timeout")
    }
    return .milliseconds(Int64(min(milliseconds, Self.timeoutMax)))
  }
}

nonisolated extension UInt64 {
  /// A number of digits alone.
  fileprivate init?(decimal text: Substring) {
    guard text.utf8.count <= 20,
      text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    self.init(text)
  }
}

nonisolated extension Duration {
  /// Rounded up; one at least.
  fileprivate var roundedMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    return max(1, min(seconds, 1 << 32) * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }
}
