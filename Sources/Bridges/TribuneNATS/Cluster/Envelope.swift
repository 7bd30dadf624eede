// SPDX-License-Identifier: Apache-2.0

import TribuneWire

nonisolated struct EnvelopeError: Error, Equatable {
  let message: String
}

/// A random identifier, such as that of a gateway process, or of its `ExportCounter`.
nonisolated struct Instance: Hashable, Sendable {
  let text: String

  init() {
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

nonisolated struct ExportNumber: Equatable, Sendable {
  /// The number among all exports of the instance (`ExportCounter.instance`), from 1.
  var sequence: UInt64
  /// The number among the instance's exports of this name, from 1.
  var count: UInt64
}

/// The headers of a message with a notification.
nonisolated struct PostEnvelope: Equatable, Sendable {
  var instance: Instance
  var number: ExportNumber
  var object: String
  var peer = RemotePeer()
}

nonisolated extension PostEnvelope {
  init(_ message: ClusterMessage) throws(EnvelopeError) {
    instance = try message.instance()
    object = try message.object()
    let parts = (message.headers[.number] ?? "").split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let sequence = UInt64(decimal: parts[0]), let count = UInt64(decimal: parts[1]),
      count >= 1, sequence >= count
    else { throw EnvelopeError(message: "has no valid Tribune-Number") }
    number = ExportNumber(sequence: sequence, count: count)
    peer = message.peer
  }

  var headers: [ClusterMessage.Header: String] {
    var headers: [ClusterMessage.Header: String] = [
      .instance: instance.text, .number: "\(number.sequence)/\(number.count)", .peer: peer.headerText,
    ]
    if !object.isEmpty { headers[.object] = ByteEscape.header.escape(object) }
    return headers
  }
}

/// The headers of a message with a question.
nonisolated struct AskEnvelope: Equatable, Sendable {
  var instance: Instance
  var query: UInt64
  var object: String
  var wantsValue: Bool
  var isDryRun: Bool
  /// How long the asking host waits for an answer or for progress.
  var timeout: Duration
  var peer = RemotePeer()
  /// The hash of the asking host's roster; empty without a roster.
  var rosterMark = ""
}

nonisolated extension AskEnvelope {
  init(_ message: ClusterMessage) throws(EnvelopeError) {
    instance = try message.instance()
    object = try message.object()
    query = try message.query()
    timeout = try message.timeout()
    peer = message.peer
    rosterMark = message.headers[.roster] ?? ""
    switch message.headers[.kind] {
    case "permission": wantsValue = false
    case "value": wantsValue = true
    default: throw EnvelopeError(message: "has no valid Tribune-Kind")
    }
    // Any value other than `yes` means a real question. If a real question were taken for a dry run, a
    // delegate could omit what it must do before the action.
    isDryRun = message.headers[.dryRun] == "yes"
  }

  var headers: [ClusterMessage.Header: String] {
    var headers: [ClusterMessage.Header: String] = [
      .instance: instance.text, .query: "\(query)", .kind: wantsValue ? "value" : "permission",
      .timeout: "\(timeout.roundedMilliseconds)", .peer: peer.headerText,
    ]
    if !object.isEmpty { headers[.object] = ByteEscape.header.escape(object) }
    if isDryRun { headers[.dryRun] = "yes" }
    if !rosterMark.isEmpty { headers[.roster] = rosterMark }
    return headers
  }
}

/// The headers of a host's reply to a question. The payload has the value, if any.
nonisolated enum ReplyEnvelope: Equatable, Sendable {
  case progress(timeout: Duration, status: String)
  case approve
  case veto(String)
  case abstain
  case failed(String)
  case value

  private static let reasonMax = WireLimits.reasonLength

  var isObjection: Bool {
    switch self {
    case .veto, .failed: true
    case .progress, .approve, .abstain, .value: false
    }
  }

  init(_ message: ClusterMessage) throws(EnvelopeError) {
    guard let reason = ByteEscape.header.unescape(message.headers[.reason] ?? "", lengthMax: Self.reasonMax)
    else {
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

  var headers: [ClusterMessage.Header: String] {
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
    if !reason.isEmpty {
      headers[.reason] = ByteEscape.header.escape(reason.prefix(utf8Length: Self.reasonMax))
    }
    if case .progress(let timeout, _) = self { headers[.timeout] = "\(timeout.roundedMilliseconds)" }
    return headers
  }
}

nonisolated extension ClusterMessage {
  /// In milliseconds.
  fileprivate static var timeoutMax: UInt64 { 3_600_000 }

  func instance() throws(EnvelopeError) -> Instance {
    guard let instance = headers[.instance].flatMap({ Instance($0) }) else {
      throw EnvelopeError(message: "has no valid Tribune-Instance")
    }
    return instance
  }

  func query() throws(EnvelopeError) -> UInt64 {
    guard let query = headers[.query].flatMap({ UInt64(decimal: $0[...]) }) else {
      throw EnvelopeError(message: "has no valid Tribune-Query")
    }
    return query
  }

  fileprivate var peer: RemotePeer { RemotePeer(headerText: headers[.peer] ?? "") }

  fileprivate func object() throws(EnvelopeError) -> String {
    guard let object = ByteEscape.header.unescape(headers[.object] ?? "", lengthMax: WireLimits.objectLength),
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
  fileprivate init?(decimal text: Substring) {
    guard text.utf8.count <= 20,
      text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    self.init(text)
  }
}

nonisolated extension Duration {
  /// The duration in milliseconds, rounded up; at least 1.
  fileprivate var roundedMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    return max(1, min(seconds, 1 << 32) * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }
}
