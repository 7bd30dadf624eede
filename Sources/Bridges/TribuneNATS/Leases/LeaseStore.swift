// SPDX-License-Identifier: Apache-2.0

import CNats
import TribuneWire

/// The leases of a cluster in a JetStream bucket, compatible with `nats kv`. Each call blocks. Reads go to
/// the stream's leader, because libnats's own read function may reach an outdated replica.
// This is safe: a single queue uses this object, and makes one call at a time.
@safe nonisolated final class LeaseStore: @unchecked Sendable {
  static let namesMax = 1_024

  let client: NATSClient
  private let bucket: String
  private let replicas: Int
  private let context: JetStreamContext

  private var stream: String { "KV_\(bucket)" }

  private func subject(_ name: String) -> String { "$KV.\(bucket).\(name)" }

  /// - Parameter wasThere: true if this process has seen the bucket before. If such a bucket is missing now,
  ///   its leases are lost, and the init throws.
  init(_ client: NATSClient, cluster: String, replicas: Int, wasThere: Bool) throws(LeaseStoreError) {
    self.client = client
    self.replicas = replicas
    bucket = "tribune-leases_\(cluster)"
    do throws(NATSError) {
      context = try JetStreamContext(client)
    } catch {
      throw LeaseStoreError(.transient, "\(error)")
    }
    guard try !isUsable() else { return }
    guard !wasThere else { throw lost }
    try make()
    guard try isUsable() else { throw lost }
  }

  private var lost: LeaseStoreError {
    LeaseStoreError(
      .final,
      "the bucket \(bucket) is gone, and with it who has which lease: when no host needs one, restart the gateways"
    )
  }

  // MARK: The bucket

  /// False if the bucket is missing. Throws if the bucket could forget values by itself.
  private func isUsable() throws(LeaseStoreError) -> Bool {
    var made: UnsafeMutablePointer<jsStreamInfo>?
    var code = jsErrCode(0)
    let status = unsafe js_GetStreamInfo(&made, context.pointer, stream, nil, &code)
    if code == JSStreamNotFoundErr { return false }
    guard status == NATS_OK, let info = unsafe made else { throw Self.readingError(status, code) }
    defer { unsafe jsStreamInfo_Destroy(info) }
    guard let configuration = unsafe info.pointee.Config else { return false }
    guard unsafe configuration.pointee.MaxAge == 0 else {
      throw LeaseStoreError(
        .final, "the bucket \(bucket) has a time to live, and would release leases by the clock")
    }
    guard unsafe configuration.pointee.Discard == js_DiscardNew else {
      throw LeaseStoreError(
        .final, "the bucket \(bucket) discards old values when it is full, which are leases")
    }
    return true
  }

  private func make() throws(LeaseStoreError) {
    var configuration = unsafe kvConfig()
    unsafe kvConfig_Init(&configuration)
    let status = unsafe bucket.withCString { bucket in
      unsafe configuration.Bucket = bucket
      unsafe configuration.History = 1
      unsafe configuration.MaxValueSize = Int32(LeaseRecord.lengthMax)
      unsafe configuration.StorageType = js_FileStorage
      unsafe configuration.Replicas = CInt(replicas)
      var made: OpaquePointer?
      let status = unsafe js_CreateKeyValue(&made, context.pointer, &configuration)
      unsafe kvStore_Destroy(made)
      return status
    }
    // Another gateway may have made the bucket, perhaps with other settings.
    guard status != NATS_OK else { return }
    let error = NATSError(status, "the bucket \(bucket) with Replicas=\(replicas) cannot be made")
    guard try isUsable() else { throw LeaseStoreError(.transient, "\(error)") }
  }

  // MARK: The leases

  func read(_ name: String) throws(LeaseStoreError) -> StoredLease {
    var made: OpaquePointer?
    var code = jsErrCode(0)
    let status = unsafe js_GetLastMsg(&made, context.pointer, stream, subject(name), nil, &code)
    if code == JSNoMessageFoundErr { return StoredLease(nil, revision: 0) }
    if code == JSStreamNotFoundErr { throw lost }
    guard status == NATS_OK, let message = unsafe made else { throw Self.readingError(status, code) }
    defer { unsafe natsMsg_Destroy(message) }
    let revision = unsafe natsMsg_GetSequence(message)
    var operation: UnsafePointer<CChar>?
    if unsafe natsMsgHeader_Get(message, "KV-Operation", &operation) == NATS_OK {
      return StoredLease(nil, revision: revision)
    }
    let count = Int(unsafe natsMsg_GetDataLength(message))
    guard count > 0, let data = unsafe natsMsg_GetData(message) else {
      return StoredLease([], revision: revision)
    }
    return StoredLease(
      unsafe Array(UnsafeRawBufferPointer(start: data, count: count)), revision: revision)
  }

  func write(_ name: String, _ bytes: [UInt8], expecting revision: UInt64) throws(LeaseStoreError) {
    var options = unsafe jsPubOptions()
    unsafe jsPubOptions_Init(&options)
    unsafe options.ExpectLastSubjectSeq = revision
    unsafe options.ExpectNoMessage = revision == 0
    var code = jsErrCode(0)
    let status = unsafe bytes.withUnsafeBytes { bytes in
      unsafe stream.withCString { stream in
        unsafe options.ExpectStream = stream
        return unsafe js_Publish(
          nil, context.pointer, subject(name), bytes.baseAddress, CInt(bytes.count), &options, &code)
      }
    }
    guard status != NATS_OK else { return }
    let error = NATSError(status, "the lease cannot be written")
    if code.rawValue != 0 { throw LeaseStoreError(.init(refusal: code.rawValue), "\(error)") }
    throw LeaseStoreError(status == NATS_NO_RESPONDERS ? .transient : .inFlight, "\(error)")
  }

  func names() throws(LeaseStoreError) -> (names: [String], isComplete: Bool) {
    var options = unsafe JetStreamContext.options()
    let start = subject("")
    var made: UnsafeMutablePointer<jsStreamInfo>?
    var code = jsErrCode(0)
    let status = unsafe (start + ">").withCString { filter in
      unsafe options.Stream.Info.SubjectsFilter = filter
      return unsafe js_GetStreamInfo(&made, context.pointer, stream, &options, &code)
    }
    if code == JSStreamNotFoundErr { throw lost }
    guard status == NATS_OK, let info = unsafe made else { throw Self.readingError(status, code) }
    defer { unsafe jsStreamInfo_Destroy(info) }
    guard let subjects = unsafe info.pointee.State.Subjects else { return ([], true) }
    var names: [String] = []
    let count = Int(unsafe subjects.pointee.Count)
    for index in 0..<min(count, Self.namesMax) {
      guard let text = unsafe subjects.pointee.List[index].Subject else { continue }
      let name = unsafe String(cString: text).dropFirst(start.count)
      if NameSyntax.isName(String(name).utf8Bytes) { names.append(String(name)) }
    }
    return (names.sorted(), count <= Self.namesMax)
  }

  // MARK: Errors

  private static func readingError(_ status: natsStatus, _ code: jsErrCode) -> LeaseStoreError {
    if code == JSNotEnabledErr || code == JSNotEnabledForAccountErr {
      return LeaseStoreError(.final, "leases need JetStream, which NATS does not have here")
    }
    let what = status == NATS_NO_RESPONDERS ? "no JetStream answers" : "leases cannot be read"
    return LeaseStoreError(.transient, "\(NATSError(status, what))")
  }
}

// This is safe: a single queue uses this object, and makes one call at a time.
nonisolated final class CurrentLeaseStore: @unchecked Sendable {
  private let cluster: String
  private let replicas: Int
  private var opened: LeaseStore?
  private var wasThere = false

  init(cluster: String, replicas: Int) { (self.cluster, self.replicas) = (cluster, replicas) }

  func store(at client: NATSClient) throws(LeaseStoreError) -> LeaseStore {
    if let opened, opened.client === client { return opened }
    opened = nil
    let store = try LeaseStore(client, cluster: cluster, replicas: replicas, wasThere: wasThere)
    (opened, wasThere) = (store, true)
    return store
  }
}
