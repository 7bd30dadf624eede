// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
import TribuneWire

/// JetStream's answer about what it was to store.
nonisolated package enum StoreReply: Equatable, Sendable {
  case stored
  case refused(code: Int, why: String)

  private static let whyMax = 256

  package init(_ payload: [UInt8]) throws(EnvelopeError) {
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
