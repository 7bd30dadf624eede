// SPDX-License-Identifier: Apache-2.0

/// A NATS message, whose contents are not validated yet.
nonisolated struct ClusterMessage: Equatable, Sendable {
  enum Header: String, CaseIterable, Sendable {
    case instance = "Tribune-Instance"
    case object = "Tribune-Object"
    case number = "Tribune-Number"
    case query = "Tribune-Query"
    case kind = "Tribune-Kind"
    case dryRun = "Tribune-Dry-Run"
    case reason = "Tribune-Reason"
    case timeout = "Tribune-Timeout"
    case peer = "Tribune-Peer"
    case host = "Tribune-Host"
    case roster = "Tribune-Roster"
    /// In a message of a bucket, this header shows that the key was deleted.
    case operation = "KV-Operation"
    /// JetStream rejects the message unless the subject's last message has this revision. 0 stands for no
    /// last message.
    case expectedRevision = "Nats-Expected-Last-Subject-Sequence"
    /// JetStream drops a message if a recent one had the same id.
    case messageID = "Nats-Msg-Id"
    /// The expected stream. JetStream rejects the message if another stream would store it.
    case expectedStream = "Nats-Expected-Stream"
  }

  var subject: String
  var reply = ""
  var headers: [Header: String] = [:]
  var payload: [UInt8] = []
  var isNoResponders = false
  var revision: UInt64 = 0

  init(_ subject: String, headers: [Header: String] = [:], payload: [UInt8] = []) {
    self.subject = subject
    self.headers = headers
    self.payload = payload
  }

  var weight: Int {
    256 + subject.utf8.count + reply.utf8.count + payload.count
      + headers.values.reduce(0) { $0 + $1.utf8.count }
  }
}
