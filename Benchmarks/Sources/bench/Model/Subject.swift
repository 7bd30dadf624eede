// SPDX-License-Identifier: Apache-2.0

/// What does a work: a server between clients, a variant of the bus, or a program.
struct Subject: Hashable, Sendable {
  enum Role: String, Codable, Sendable {
    /// The least that any server needs. It is no alternative.
    case floor
    case tribune
    /// An alternative to Tribune.
    case peer
  }

  /// In JSON.
  var name: String
  /// In tables and charts.
  var title: String
  var role: Role
  /// The server that it needs; nil if it starts its own.
  var host: Server.Kind?

  init(_ name: String, _ title: String, _ role: Role, on host: Server.Kind?) {
    self.name = name
    self.title = title
    self.role = role
    self.host = host
  }
}

extension Subject {
  static let relay = Subject("relay", "C relay", .floor, on: .relay)
  static let tribune = Subject("tribune", "Tribune", .tribune, on: .tribune)
  static let redis = Subject("redis", "Redis", .peer, on: .redis)
  static let nats = Subject("nats", "NATS", .peer, on: .nats)
  static let mosquitto = Subject("mosquitto", "Mosquitto", .peer, on: .mosquitto)
  static let dbusDaemon = Subject("dbus-daemon", "dbus-daemon", .peer, on: .dbusDaemon)
  static let dbusBroker = Subject("dbus-broker", "dbus-broker", .peer, on: .dbusBroker)

  static let zeroMQ = Subject("zeromq", "ZeroMQ", .peer, on: .zeroMQ)

  static let peers: [Subject] = [.redis, .nats, .mosquitto, .dbusDaemon, .dbusBroker, .zeroMQ]
  /// All servers but the relay, which has one receiver only.
  static let buses: [Subject] = [.tribune] + peers
  static let servers: [Subject] = [.relay] + buses

  /// A variant of the bus.
  static func variant(_ name: String, _ title: String, on host: Server.Kind? = .tribune) -> Subject {
    Subject(name, title, .tribune, on: host)
  }
}
