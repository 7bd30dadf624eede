// SPDX-License-Identifier: Apache-2.0

/// The configuration of a cluster's durable stream and of this host's consumer.
nonisolated struct DurableStream: Equatable, Sendable {
  /// The actual settings of the stream of this name, which any program may have created.
  struct Properties: Equatable, Sendable {
    var subjects: [String]
    /// True if each message has a single consumer.
    var isWorkQueue = false
    var acknowledges = true
    var discardsUnread = false
    /// True if this program created it, and so may remove messages that all hosts have.
    var isOwn = false
    /// The age at which it removes messages, even unread ones; nil for never.
    var ageMax: Duration?
  }

  let name: String
  let subjects: String
  let consumer: String
  let deliverSubject: String
  let bytesMax: Int
  /// Bytes of one message. The stream is emptied at half its size, so one message always fits again.
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

  /// The log line for a consumer that is no longer needed. The stream keeps all that it has not acknowledged.
  var unneededConsumer: String {
    "keeps notifications for \(consumer), which imports none of them any more: to end that, run "
      + "\"nats consumer rm \(name) \(consumer)\""
  }

  /// The reason that a stream is unusable.
  func flaw(of properties: Properties) -> String? {
    if !properties.subjects.contains(subjects) { return "its subjects are not \(subjects)" }
    if properties.isWorkQueue { return "it is a work queue, of which each message reaches one host only" }
    if !properties.acknowledges { return "it does not acknowledge what it stores" }
    return nil
  }

  /// A setting that may lose messages, unlike this program's own.
  func warning(about properties: Properties) -> String? {
    if properties.discardsUnread { return "removes unread notifications when it is full" }
    if let age = properties.ageMax, age < ageMax {
      return "removes unread notifications after \(age), before DurableMaxAgeSec="
    }
    return nil
  }
}
