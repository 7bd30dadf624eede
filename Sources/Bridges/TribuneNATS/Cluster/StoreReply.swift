// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
import TribuneWire

/// JetStream's reply to a message that it should store.
nonisolated enum StoreReply: Equatable, Sendable {
  case stored
  case refused(code: Int, why: String)

  /// JetStream's codes for a revision conflict. 10164: the replicas have not yet decided on another write.
  static let conflicts: Set = [10_071, 10_164]
  private static let whyMax = 256

  init(_ payload: [UInt8]) throws(EnvelopeError) {
    let document: JSONDocument
    do throws(JSONText.SyntaxError) {
      document = try JSONDocument(payload.rawBytes)
    } catch {
      throw EnvelopeError(message: "is no answer of JetStream")
    }
    if let error = document.root["error"] {
      let why = error["description"]?.string ?? "no reason"
      self = .refused(code: error["err_code"]?.integer ?? 0, why: why.prefix(utf8Length: Self.whyMax).escaped)
    } else if let sequence = document.root["seq"]?.integer, sequence > 0 {
      self = .stored
    } else {
      throw EnvelopeError(message: "is no answer of JetStream")
    }
  }
}

/// The last tokens of the subjects to which JetStream replies. Each process has its own tokens, because a
/// late reply may be for an earlier process.
nonisolated struct StoreTokens: Sendable {
  enum Kind: String, Sendable {
    case durable = "d"
    case retained = "r"
  }

  private let prefix: String

  init(_ kind: Kind) { prefix = "\(kind.rawValue)\(Instance().text)-" }

  func token(_ number: UInt64) -> String { "\(prefix)\(number)" }

  func number(of token: String) -> UInt64? {
    token.hasPrefix(prefix) ? UInt64(token.dropFirst(prefix.count)) : nil
  }
}
