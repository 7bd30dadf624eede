// SPDX-License-Identifier: Apache-2.0

/// One thing that is measured in every round.
enum Series: String, CaseIterable, Codable {
  case relay
  case ask
  case relayTasks
  case askLibrary
  case chain
  case chainOfOne
  case relayStream
  case postToOne
  case postToTen
  case post
  case postCrowded
  case postStarred
  case newName
  case newNameCrowded
  case newNameStarred
  case streamCrowded
  case streamStarred

  enum Kind: Equatable {
    case roundTrips(Clients)
    case asks(Chain)
    case stream(receivers: Int)
    case posts(newNames: Bool)
  }

  enum Clients {
    /// The C driver: blocked threads, bytes prepared beforehand.
    case driver
    /// Swift tasks: the library's for the bus, the least that is like them for the relay.
    case tasks
  }

  var kind: Kind {
    switch self {
    case .relay, .ask: .roundTrips(.driver)
    case .relayTasks, .askLibrary: .roundTrips(.tasks)
    case .chain: .asks(Chain(connections: 100, delegatesEach: 1))
    case .chainOfOne: .asks(Chain(connections: 1, delegatesEach: 100))
    case .relayStream, .postToOne: .stream(receivers: 1)
    case .postToTen: .stream(receivers: 10)
    case .streamCrowded, .streamStarred: .stream(receivers: 1)
    case .post, .postCrowded, .postStarred: .posts(newNames: false)
    case .newName, .newNameCrowded, .newNameStarred: .posts(newNames: true)
    }
  }

  var isStream: Bool { if case .stream = kind { true } else { false } }

  var chain: Chain? { if case .asks(let chain) = kind { chain } else { nil } }

  /// It is measured beside a crowd, or is what such a one is compared with.
  var isScale: Bool {
    switch self {
    case .post, .postCrowded, .postStarred, .newName, .newNameCrowded, .newNameStarred, .streamCrowded,
      .streamStarred:
      true
    default: false
    }
  }

  /// What it is compared with: the relay with clients of the same kind; for a chain, the ask of one delegate;
  /// beside a crowd, the same without one.
  var baseline: Series {
    switch self {
    case .relay, .ask: .relay
    case .relayTasks, .askLibrary: .relayTasks
    case .chain, .chainOfOne: .ask
    case .relayStream, .postToOne, .postToTen: .relayStream
    case .post, .postCrowded, .postStarred: .post
    case .newName, .newNameCrowded, .newNameStarred: .newName
    case .streamCrowded, .streamStarred: .postToOne
    }
  }

  /// How many of its baseline it is compared with.
  var baselineCount: Double { chain.map { Double($0.delegates) } ?? 1 }

  /// The relay with nothing around it.
  var floor: Series { isStream ? .relayStream : .relay }

  var server: Server.Kind {
    switch self {
    case .relay, .relayTasks, .relayStream: .relay
    case .postCrowded, .newNameCrowded, .streamCrowded: .crowded
    case .postStarred, .newNameStarred, .streamStarred: .starred
    default: .tribune
    }
  }

  /// What a sample has cost, of which a stream's value is the reverse.
  func cost(of sample: Sample) -> Double { isStream ? 1 / sample.value : sample.value }

  /// The multiple of `baselineCount` of its baseline's cost that the bus is to keep below.
  var target: Double? {
    switch self {
    case .ask, .askLibrary: 1.25
    case .chain, .chainOfOne: 1
    case .postCrowded, .postStarred, .streamCrowded, .streamStarred: 1.5
    default: nil
    }
  }

  var title: String {
    switch self {
    case .relay: "relay"
    case .ask: "ask, one delegate"
    case .relayTasks: "relay, between Swift tasks"
    case .askLibrary: "ask, Swift library"
    case .chain: "100 connections, one each"
    case .chainOfOne: "one connection"
    case .relayStream: "relay, 1 to 1"
    case .postToOne: "post, 1 to 1"
    case .postToTen: "post, 1 to 10"
    case .post: "post, 1 to 1"
    case .postCrowded: "post, beside names"
    case .postStarred: "post, beside stars"
    case .newName: "new names"
    case .newNameCrowded: "new names, beside names"
    case .newNameStarred: "new names, beside stars"
    case .streamCrowded: "stream, beside names"
    case .streamStarred: "stream, beside stars"
    }
  }
}

/// The delegates of one object, all of whom are asked at once.
struct Chain: Equatable {
  var connections: Int
  var delegatesEach: Int

  var delegates: Int { connections * delegatesEach }
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
