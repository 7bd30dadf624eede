// SPDX-License-Identifier: Apache-2.0

/// How an ask grows with the chain that it is put to.
struct Growth {
  /// Delegates are spread over this many connections at most: that many threads answer, whatever the chain.
  private static let connectionsMax = 10
  private static let lengths = [1, 10, 100, 1_000, 10_000]
  /// Asks through a chain are as many as make about this many questions, but some at least.
  private static let questions = 50_000
  private static let asksMin = 20

  let tribuned: Server

  /// A table with the median of each chain.
  func run() throws -> String {
    var lines = ["\("delegates".padded(to: 15))\("p50 µs".padded(to: 15))\("p50 µs each".padded(to: 15))"]
    for length in Self.lengths {
      let connections = min(length, Self.connectionsMax)
      let chain = Chain(connections: connections, delegatesEach: length / connections)
      let asks = max(Self.asksMin, Self.questions / length)
      let durations = try Driver.asks(asks, through: chain, of: tribuned).map { Double($0) / 1_000 }
      let median = durations.quantile(0.5)
      lines.append(
        "\("\(length)".padded(to: 15))\(median.fixed(1).padded(to: 15))"
          + (median / Double(length)).fixed(2).padded(to: 15))
    }
    return lines.joined(separator: "\n")
  }
}
