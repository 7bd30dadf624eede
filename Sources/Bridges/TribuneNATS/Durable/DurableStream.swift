// SPDX-License-Identifier: Apache-2.0

/// The stream of a cluster's durable notifications, and this host's consumer of it.
nonisolated struct DurableStream: Equatable, Sendable {
  /// What a stream is set to that has this one's name, whoever has made it.
  struct Properties: Equatable, Sendable {
    var subjects: [String]
    /// Whether it has one consumer for each message only.
    var isWorkQueue = false
    var acknowledges = true
    var discardsUnread = false
    /// Whether this program has made it. Then it may remove what all hosts have.
    var isOwn = false
    /// After which it removes messages, read or not; nil for never.
    var ageMax: Duration?
  }

  let name: String
  let subjects: String
  let consumer: String
  let deliverSubject: String
  let bytesMax: Int
  /// Of one message. As the stream is emptied once it is half full, there is space for one again.
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

  /// What the journal says of this host's consumer if nothing is imported. What it has not acknowledged, the stream keeps.
  var unneededConsumer: String {
    "keeps notifications for \(consumer), which imports none of them any more: to end that, run "
      + "\"nats consumer rm \(name) \(consumer)\""
  }

  /// Why a stream cannot be used.
  func flaw(of properties: Properties) -> String? {
    if !properties.subjects.contains(subjects) { return "its subjects are not \(subjects)" }
    if properties.isWorkQueue { return "it is a work queue, of which each message reaches one host only" }
    if !properties.acknowledges { return "it does not acknowledge what it stores" }
    return nil
  }

  /// What the stream does otherwise than one that this program makes, and that loses messages; nil for nothing.
  func warning(about properties: Properties) -> String? {
    if properties.discardsUnread { return "removes unread notifications when it is full" }
    if let age = properties.ageMax, age < ageMax {
      return "removes unread notifications after \(age), before DurableMaxAgeSec="
    }
    return nil
  }
}
