// SPDX-License-Identifier: Apache-2.0

/// One thing that is measured in every round.
enum Series: String, CaseIterable, Codable {
  case relayRoundTrip
  case ask
  case relayStream
  case postToOne
  case postToTen

  enum Kind: Equatable {
    case roundTrips
    case stream(receivers: Int)
  }

  var kind: Kind {
    switch self {
    case .relayRoundTrip, .ask: .roundTrips
    case .relayStream, .postToOne: .stream(receivers: 1)
    case .postToTen: .stream(receivers: 10)
    }
  }

  /// What it is a multiple of.
  var baseline: Series { kind == .roundTrips ? .relayRoundTrip : .relayStream }

  var isRelay: Bool { self == baseline }

  /// The multiple that the bus is to keep below.
  var target: Double? { self == .ask ? 1.25 : nil }

  var title: String {
    switch self {
    case .relayRoundTrip: "relay, 64 B there and back"
    case .ask: "ask, one delegate, 64 B"
    case .relayStream: "relay, 1 to 1"
    case .postToOne: "post, 1 to 1"
    case .postToTen: "post, 1 to 10"
    }
  }
}

/// What one round found of one series.
struct Sample: Codable, Equatable {
  /// The median, in microseconds; of a stream, millions delivered a second.
  var value: Double
  /// The 99th percentile, in microseconds; a stream has none.
  var tail: Double?
  /// The processor time that the server took, in microseconds a round trip; of a stream, in processors.
  var server: Double
}

extension [Double] {
  /// The value that the given share of all lie below; there must be some.
  func quantile(_ share: Double) -> Double {
    sorted()[Swift.min(count - 1, Int(Double(count) * share))]
  }
}
