// SPDX-License-Identifier: Apache-2.0

/// The settings of the JetStream stream for durable notifications, and of this host's consumer.
nonisolated struct DurableStream: Equatable, Sendable {
  /// The settings of an existing stream, which any program may have chosen.
  struct Properties: Equatable, Sendable {
    var subjects: [String]
    /// True if each message reaches only one consumer.
    var isWorkQueue = false
    var acknowledges = true
    var discardsUnread = false
    /// True if a gateway created the stream. From other streams, gateways must not remove messages.
    var isOwn = false
    /// JetStream removes older messages, even unread ones; nil for no limit.
    var ageMax: Duration?
  }

  let name: String
  let subjects: String
  let consumer: String
  let deliverSubject: String
  let bytesMax: Int
  /// When the stream is half full, the gateway purges it, so a message must fit into the other half.
  var messageMax: Int { bytesMax / 2 }
  let ageMax: Duration
  let replicas: Int

  init(_ settings: NATSSettings, _ subjects: Subjects) {
    name = "tribune-durable_\(settings.cluster)"
    self.subjects = subjects.allDurable
    consumer = settings.host
    deliverSubject = subjects.deliveries
    (bytesMax, ageMax) = (settings.durableBytesMax, settings.durableAgeMax)
    replicas = settings.replicas
  }

  var unneededConsumer: String {
    "keeps notifications for \(consumer), which imports none of them any more: to end that, run "
      + "\"nats consumer rm \(name) \(consumer)\""
  }

  func flaw(of properties: Properties) -> String? {
    if !properties.subjects.contains(subjects) { return "its subjects are not \(subjects)" }
    if properties.isWorkQueue { return "it is a work queue, of which each message reaches one host only" }
    if !properties.acknowledges { return "it does not acknowledge what it stores" }
    return nil
  }

  func warning(about properties: Properties) -> String? {
    if properties.discardsUnread { return "removes unread notifications when it is full" }
    if let age = properties.ageMax, age < ageMax {
      return "removes unread notifications after \(age), before DurableMaxAgeSec="
    }
    return nil
  }
}
