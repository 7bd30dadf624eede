// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The NATS subjects of a cluster (docs/PROTOCOL.md).
nonisolated struct Subjects: Equatable, Sendable {
  enum Incoming: Equatable, Sendable {
    case post(from: String, name: String)
    case durable(from: String, name: String)
    case ask(from: String, name: String)
    case cancel(from: String)
    case reply(from: String, token: String)
    case presence(of: String)
    case stored(token: String)
    case lease(from: String, name: String)
  }

  private let host: String
  private let prefix: String

  /// Both arguments must satisfy `isToken`.
  init(cluster: String, host: String) {
    self.host = host
    prefix = "tribune.v1.\(cluster)"
  }

  /// True if the text is one token of a valid name, of at most 63 bytes.
  static func isToken(_ text: some StringProtocol) -> Bool {
    text.utf8.count <= 63 && !text.utf8.contains(UInt8(ascii: "."))
      && NameSyntax.isName(String(text).utf8Bytes)
  }

  // MARK: Publications

  func post(_ name: String) -> String { "\(prefix).post.\(host).\(name)" }

  func durable(_ name: String) -> String { "\(prefix).durable.\(host).\(name)" }

  func ask(_ other: String, _ name: String) -> String { "\(prefix).ask.\(host).\(other).\(name)" }

  func cancel(at other: String) -> String { "\(prefix).cancel.\(host).\(other)" }

  var presence: String { "\(prefix).presence.\(host)" }

  func lease(_ name: String) -> String { "\(prefix).lease.\(host).\(name)" }

  func reply(of other: String, token: String) -> String {
    "\(prefix).reply.\(other).\(host).\(token)"
  }

  /// A reply subject of `other` that all hosts ignore. By publishing there, a gateway tests whether NATS lets
  /// it speak for others.
  func reply(as other: String) -> String { "\(prefix).reply.\(other).\(other).nobody" }

  /// True if the subject is for this host's replies to `other`. The asker chooses the reply subject, and must
  /// not make this host publish elsewhere.
  func isReply(_ subject: String, to other: String) -> Bool {
    let start = "\(prefix).reply.\(host).\(other)."
    return subject.hasPrefix(start) && Self.isToken(subject.dropFirst(start.count))
  }

  func stored(token: String) -> String { "\(prefix).stored.\(host).\(token)" }

  /// True if NATS refused a subject that questions need. `refusal` is the NATS server's message.
  func isAboutQuestions(_ refusal: String) -> Bool {
    ["ask", "cancel", "reply"].contains { refusal.contains("\"\(prefix).\($0).") }
  }

  /// True if NATS refused the subscription to replies. Without this subscription, vetoes would be lost.
  func isAboutAllReplies(_ refusal: String) -> Bool {
    refusal.contains("Subscription to \"\(prefix).reply.")
  }

  // MARK: Subscriptions

  func posts(matching pattern: Pattern) -> String {
    let tokens = pattern.text.split(separator: ".").map { $0 == "**" ? ">" : String($0) }
    return "\(prefix).post.*.\(tokens.joined(separator: "."))"
  }

  var allDurable: String { "\(prefix).durable.*.>" }

  var deliveries: String { "\(prefix).deliver.\(host)" }

  var asks: String { "\(prefix).ask.*.\(host).>" }

  var cancels: String { "\(prefix).cancel.*.\(host)" }

  var replies: String { "\(prefix).reply.*.\(host).*" }

  var allStored: String { "\(prefix).stored.\(host).*" }

  var presences: String { "\(prefix).presence.*" }

  var leases: String { "\(prefix).lease.*.>" }

  /// Returns nil for this host's own messages, and for subjects outside this host's subscriptions.
  func parse(_ subject: String) -> Incoming? {
    guard subject.hasPrefix("\(prefix).") else { return nil }
    let stored = self.stored(token: "")
    if subject.hasPrefix(stored) {
      let token = subject.dropFirst(stored.count)
      return Self.isToken(token) ? .stored(token: String(token)) : nil
    }
    let tokens = subject.dropFirst(prefix.count + 1).split(separator: ".", omittingEmptySubsequences: false)
    guard tokens.count >= 2, Self.isToken(tokens[1]), tokens[1] != host else { return nil }
    let from = String(tokens[1])
    switch tokens[0] {
    case "post":
      return Self.name(tokens.dropFirst(2)).map { .post(from: from, name: $0) }
    case "durable":
      return Self.name(tokens.dropFirst(2)).map { .durable(from: from, name: $0) }
    case "ask" where tokens.count > 3 && tokens[2] == host:
      return Self.name(tokens.dropFirst(3)).map { .ask(from: from, name: $0) }
    case "cancel" where tokens.count == 3 && tokens[2] == host: return .cancel(from: from)
    case "reply" where tokens.count == 4 && tokens[2] == host:
      return .reply(from: from, token: String(tokens[3]))
    case "presence" where tokens.count == 2: return .presence(of: from)
    case "lease":
      return Self.name(tokens.dropFirst(2)).map { .lease(from: from, name: $0) }
    default: return nil
    }
  }

  private static func name(_ tokens: ArraySlice<Substring>) -> String? {
    let name = tokens.joined(separator: ".")
    return NameSyntax.isName(name.utf8Bytes) && !NameSyntax.isReserved(name.utf8Bytes) ? name : nil
  }
}
