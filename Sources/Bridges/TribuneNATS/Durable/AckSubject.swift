// SPDX-License-Identifier: Apache-2.0

/// The subject `$JS.ACK.STREAM.CONSUMER.DELIVERED.SEQUENCE.…`, which acknowledges a consumer's message. A
/// domain and an account can precede the stream.
nonisolated struct AckSubject: Equatable, Sendable {
  let stream: String
  let consumer: String
  let sequence: UInt64

  private static let tokensMax = 12

  init?(_ subject: String) {
    guard subject.hasPrefix("$JS.ACK.") else { return nil }
    let tokens = subject.split(separator: ".", omittingEmptySubsequences: false)
    guard tokens.count == 9 || (11...Self.tokensMax).contains(tokens.count) else { return nil }
    let start = tokens.count == 9 ? 2 : 4
    guard let sequence = UInt64(tokens[start + 3]), sequence > 0, sequence < .max
    else { return nil }
    stream = String(tokens[start])
    consumer = String(tokens[start + 1])
    self.sequence = sequence
  }
}
