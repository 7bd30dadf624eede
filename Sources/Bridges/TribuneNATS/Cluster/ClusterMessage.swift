// SPDX-License-Identifier: Apache-2.0

/// A message of NATS, with those of its headers that Tribune knows. Nothing of it was checked.
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
    /// Of a bucket: that there is no value any more.
    case operation = "KV-Operation"
    /// Of JetStream: stores only if the last value of the subject is this one; 0 for none.
    case expectedRevision = "Nats-Expected-Last-Subject-Sequence"
    /// Of JetStream: what has the same id as another one before is not stored again, for some time.
    case messageID = "Nats-Msg-Id"
    /// Of JetStream: stores only in the stream of this name.
    case expectedStream = "Nats-Expected-Stream"
  }

  var subject: String
  var reply = ""
  var headers: [Header: String] = [:]
  var payload: [UInt8] = []
  /// Whether the server says that nobody receives what was published with this subject as its reply.
  var isNoResponders = false
  /// Of a value in a bucket: grows with each that is stored there.
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
