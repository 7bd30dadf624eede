// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The subjects of a cluster, as one of its hosts uses them (docs/CLUSTER.md).
nonisolated package struct Subjects: Equatable, Sendable {
  /// A subject that this host receives.
  package enum Incoming: Equatable, Sendable {
    case post(from: String, name: String)
    /// A notification that JetStream has kept.
    case durable(from: String, name: String)
    case ask(from: String, name: String)
    case cancel(from: String)
    case reply(from: String, token: String)
    case presence(of: String)
    /// JetStream's answer about a retained or durable notification.
    case stored(token: String)
    case lease(from: String, name: String)
  }

  private let host: String
  private let prefix: String

  /// - Parameters:
  ///   - cluster: its name, which is a token.
  ///   - host: this host, the same.
  package init(cluster: String, host: String) {
    self.host = host
    prefix = "tribune.v1.\(cluster)"
  }

  /// Whether a text can be the name of a cluster or a host: 1 to 63 bytes that a token of a name can have.
  package static func isToken(_ text: some StringProtocol) -> Bool {
    text.utf8.count <= 63 && !text.utf8.contains(UInt8(ascii: "."))
      && NameSyntax.isName(String(text).utf8Bytes)
  }

  // MARK: What this host publishes

  package func post(_ name: String) -> String { "\(prefix).post.\(host).\(name)" }

  package func durable(_ name: String) -> String { "\(prefix).durable.\(host).\(name)" }

  package func ask(_ other: String, _ name: String) -> String { "\(prefix).ask.\(host).\(other).\(name)" }

  package func cancel(at other: String) -> String { "\(prefix).cancel.\(host).\(other)" }

  package var presence: String { "\(prefix).presence.\(host)" }

  package func lease(_ name: String) -> String { "\(prefix).lease.\(host).\(name)" }

  /// The reply subject of a question to another host.
  package func reply(of other: String, token: String) -> String {
    "\(prefix).reply.\(other).\(host).\(token)"
  }

  /// Whether this host may reply to a question of another one at that subject: the asker chooses it, and must not be able
  /// to make this host publish anything else.
  package func isReply(_ subject: String, to other: String) -> Bool {
    let start = "\(prefix).reply.\(host).\(other)."
    return subject.hasPrefix(start) && Self.isToken(subject.dropFirst(start.count))
  }

  /// The reply subject of what JetStream is to store.
  package func stored(token: String) -> String { "\(prefix).stored.\(host).\(token)" }

  /// Whether what a server of NATS has refused, by its words, is part of questions to other hosts.
  package func isAboutQuestions(_ refusal: String) -> Bool {
    ["ask", "cancel", "reply"].contains { refusal.contains("\"\(prefix).\($0).") }
  }

  /// The same of the subscription to replies: without it, nobody would learn of a veto.
  package func isAboutAllReplies(_ refusal: String) -> Bool {
    refusal.contains("Subscription to \"\(prefix).reply.")
  }

  // MARK: What this host subscribes to

  /// The posts of all hosts whose names match a pattern.
  package func posts(matching pattern: Pattern) -> String {
    let tokens = pattern.text.split(separator: ".").map { $0 == "**" ? ">" : String($0) }
    return "\(prefix).post.*.\(tokens.joined(separator: "."))"
  }

  /// The durable notifications of all hosts, which the stream stores.
  package var allDurable: String { "\(prefix).durable.*.>" }

  /// Where JetStream sends those to this host.
  package var deliveries: String { "\(prefix).deliver.\(host)" }

  package var asks: String { "\(prefix).ask.*.\(host).>" }

  package var cancels: String { "\(prefix).cancel.*.\(host)" }

  package var replies: String { "\(prefix).reply.*.\(host).*" }

  package var allStored: String { "\(prefix).stored.\(host).*" }

  package var presences: String { "\(prefix).presence.*" }

  package var leases: String { "\(prefix).lease.*.>" }

  /// What a subject that came in is about; nil if this host has not subscribed to it, or if it is its own.
  package func parse(_ subject: String) -> Incoming? {
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
