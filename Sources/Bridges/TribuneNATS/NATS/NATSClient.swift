// SPDX-License-Identifier: Apache-2.0

import CNats
import TribuneSystem

/// A connection to NATS. Calls may block, so the main thread must not make them.
// This is safe: libnats locks its connections, and the pointer is constant.
@safe nonisolated final class NATSClient: @unchecked Sendable {
  /// In bytes.
  private static let reconnectBufferSize: CInt = 1 << 20
  private static let pingMilliseconds: Int64 = 2_000
  private static let writeMilliseconds: Int64 = 5_000
  private static let connectMilliseconds: Int64 = 5_000

  let connection: OpaquePointer
  private var subscriptions: [NATSSubscription] = []
  /// Used only on the queue `NATSLink.watcher`.
  private var values: [NATSSubscription] = []

  init(
    _ settings: NATSSettings, posts: [String], durable: [String], others: [String],
    to receiver: NATSReceiver
  ) throws(NATSError) {
    var made: OpaquePointer?
    try NATSError.check(unsafe natsOptions_Create(&made), "cannot begin")
    guard let options = unsafe made else { preconditionFailure("options that were made are there") }
    defer { unsafe natsOptions_Destroy(options) }
    unsafe try Self.set(options, settings)
    unsafe Self.set(options, receiver)
    var connected: OpaquePointer?
    try NATSError.check(unsafe natsConnection_Connect(&connected, options), "cannot connect")
    guard let connected = unsafe connected else { preconditionFailure("a connection that was made is there") }
    unsafe connection = connected
    for subject in posts { unsafe try subscribe(subject, NATSReceiver.receivePost, receiver) }
    for subject in durable { unsafe try subscribe(subject, NATSReceiver.receiveDurable, receiver) }
    for subject in others { unsafe try subscribe(subject, NATSReceiver.receiveOther, receiver) }
    // The flush waits for the server's pong. By then, the receiver has also learned of refused subscriptions.
    try NATSError.check(
      unsafe natsConnection_FlushTimeout(connection, Self.connectMilliseconds), "no answer")
    guard unsafe natsConnection_HasHeaderSupport(connection) == NATS_OK else {
      throw NATSError(NATS_NO_SERVER_SUPPORT, "the server has no headers")
    }
  }

  deinit {
    (values, subscriptions) = ([], [])
    unsafe natsConnection_Destroy(connection)
  }

  private static func set(_ options: OpaquePointer, _ settings: NATSSettings) throws(NATSError) {
    unsafe try setServers(options, settings.servers)
    let login = settings.login
    var steps: [(natsStatus, String)] = unsafe [
      (natsOptions_SetName(options, "tribune-nats \(settings.host)"), "Host="),
      (natsOptions_SetTimeout(options, connectMilliseconds), "time-out"),
      (natsOptions_SetPingInterval(options, pingMilliseconds), "ping"),
      (natsOptions_SetMaxPingsOut(options, 2), "ping"),
      (natsOptions_SetMaxReconnect(options, -1), "reconnecting"),
      (natsOptions_SetReconnectWait(options, 200), "reconnecting"),
      (natsOptions_SetReconnectBufSize(options, reconnectBufferSize), "reconnecting"),
      (natsOptions_SetWriteDeadline(options, writeMilliseconds), "time-out"),
      (natsOptions_SetNoEcho(options, true), "echo"),
      // Without this option, libnats waits a millisecond for more data before it sends.
      (natsOptions_SetSendAsap(options, true), "sending"),
      // With this option, libnats delivers all messages on a single thread, in order.
      (natsOptions_UseGlobalMessageDelivery(options, true), "delivery"),
    ]
    if !login.user.isEmpty {
      steps.append(
        (unsafe natsOptions_SetUserInfo(options, login.user, try password(login.passwordFile)), "User="))
    }
    if !login.credentialsFile.isEmpty {
      steps.append(
        (
          unsafe natsOptions_SetUserCredentialsFromFiles(options, login.credentialsFile, nil),
          "CredentialsFile="
        ))
    }
    if !login.publicKey.isEmpty {
      steps.append(
        (unsafe natsOptions_SetNKeyFromSeed(options, login.publicKey, login.seedFile), "PublicKey="))
    }
    if settings.requiresTLS { steps.append((unsafe natsOptions_SetSecure(options, true), "TLS")) }
    if !login.authorityFile.isEmpty {
      steps.append(
        (unsafe natsOptions_LoadCATrustedCertificates(options, login.authorityFile), "AuthorityFile="))
    }
    if !login.certificateFile.isEmpty {
      steps.append(
        (
          unsafe natsOptions_LoadCertificatesChain(options, login.certificateFile, login.keyFile),
          "CertificateFile="
        ))
    }
    for (status, what) in steps { try NATSError.check(status, what) }
  }

  private static func setServers(_ options: OpaquePointer, _ servers: [String]) throws(NATSError) {
    let texts = servers.map { Array($0.utf8CString) }
    func collect(_ rest: ArraySlice<[CChar]>, _ pointers: [UnsafePointer<CChar>?]) -> natsStatus {
      guard let first = rest.first else {
        var pointers = unsafe pointers
        return unsafe natsOptions_SetServers(options, &pointers, CInt(servers.count))
      }
      return unsafe first.withUnsafeBufferPointer {
        unsafe collect(rest.dropFirst(), pointers + [$0.baseAddress])
      }
    }
    try NATSError.check(unsafe collect(texts[...], []), "Servers=")
  }

  private static func password(_ path: String) throws(NATSError) -> String {
    do throws(Errno) {
      let bytes = try InputFile.contents(of: path, lengthMax: 4_096, waits: false) ?? []
      return String(decoding: bytes, as: UTF8.self).split(separator: "\n").first.map(String.init) ?? ""
    } catch {
      throw NATSError(NATS_INVALID_ARG, "PasswordFile= cannot be read: \(error)")
    }
  }

  private static func set(_ options: OpaquePointer, _ receiver: NATSReceiver) {
    let pointer = unsafe receiver.pointer
    unsafe natsOptions_SetDisconnectedCB(options, NATSReceiver.disconnected, pointer)
    unsafe natsOptions_SetReconnectedCB(options, NATSReceiver.reconnected, pointer)
    unsafe natsOptions_SetClosedCB(options, NATSReceiver.closed, pointer)
    unsafe natsOptions_SetErrorHandler(options, NATSReceiver.failed, pointer)
  }

  private func subscribe(
    _ subject: String, _ callback: @escaping natsMsgHandler, _ receiver: NATSReceiver
  ) throws(NATSError) {
    var subscription: OpaquePointer?
    try NATSError.check(
      unsafe natsConnection_Subscribe(&subscription, connection, subject, callback, receiver.pointer),
      "cannot subscribe to \(subject)")
    if let subscription = unsafe subscription { subscriptions.append(unsafe NATSSubscription(subscription)) }
  }

  // MARK: JetStream

  /// Makes the bucket if it is missing, and watches `subjects`. The receiver first gets all current values.
  func watch(
    _ bucket: Bucket, replicas: Int, _ subjects: [String], to receiver: NATSReceiver
  ) throws(NATSError) {
    values = []
    let context = try JetStreamContext(self, waitMilliseconds: Self.connectMilliseconds)
    defer { withExtendedLifetime(context) {} }
    try Self.make(bucket, replicas, context)
    for subject in subjects {
      var options = unsafe jsSubOptions()
      unsafe jsSubOptions_Init(&options)
      unsafe options.Ordered = true
      unsafe options.Config.DeliverPolicy = js_DeliverLastPerSubject
      var subscription: OpaquePointer?
      let status = unsafe "KV_\(bucket.name)".withCString { name in
        unsafe options.Stream = name
        return unsafe js_Subscribe(
          &subscription, context.pointer, subject, NATSReceiver.receiveValue, receiver.pointer, nil, &options,
          nil)
      }
      try NATSError.check(status, "cannot watch \(subject)")
      if let subscription = unsafe subscription { values.append(unsafe NATSSubscription(subscription)) }
    }
  }

  private static func make(
    _ bucket: Bucket, _ replicas: Int, _ context: JetStreamContext
  ) throws(NATSError) {
    var store: OpaquePointer?
    var status = unsafe js_KeyValue(&store, context.pointer, bucket.name)
    if status == NATS_NOT_FOUND {
      status = unsafe bucket.name.withCString { name in
        var settings = unsafe kvConfig()
        unsafe kvConfig_Init(&settings)
        unsafe settings.Bucket = name
        unsafe settings.Replicas = CInt(replicas)
        return unsafe js_CreateKeyValue(&store, context.pointer, &settings)
      }
    }
    try NATSError.check(status, "no bucket \(bucket.name)")
    unsafe kvStore_Destroy(store)
  }

  var number: UInt { UInt(bitPattern: unsafe connection) }

  var isClosed: Bool { unsafe natsConnection_IsClosed(connection) }

  var serverURL: String {
    var buffer = [CChar](repeating: 0, count: 512)
    let status = unsafe buffer.withUnsafeMutableBufferPointer {
      unsafe natsConnection_GetConnectedUrl(connection, $0.baseAddress, $0.count)
    }
    guard status == NATS_OK, let end = buffer.firstIndex(of: 0) else { return "" }
    return String(decoding: buffer[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  var payloadMax: Int { Int(unsafe natsConnection_GetMaxPayload(connection)) }

  func publish(_ message: ClusterMessage) throws(NATSError) {
    var made: OpaquePointer?
    let status = unsafe message.payload.withUnsafeBytes { bytes in
      unsafe natsMsg_Create(
        &made, message.subject, message.reply.isEmpty ? nil : message.reply,
        bytes.baseAddress?.assumingMemoryBound(to: CChar.self), CInt(bytes.count))
    }
    try NATSError.check(status, "cannot publish")
    guard let native = unsafe made else { preconditionFailure("a message that was made is there") }
    defer { unsafe SpentMessages.add(native) }
    for (header, value) in message.headers where !value.isEmpty {
      try NATSError.check(unsafe natsMsgHeader_Set(native, header.rawValue, value), "cannot publish")
    }
    try NATSError.check(unsafe natsConnection_PublishMsg(connection, native), "cannot publish")
  }

  /// Sends a ping, and waits for the pong. By then, the server has read all messages that were published
  /// before the ping.
  func ping(milliseconds: Int64) throws(NATSError) {
    try NATSError.check(unsafe natsConnection_FlushTimeout(connection, milliseconds), "no answer")
  }
}

@safe nonisolated final class NATSSubscription {
  private let subscription: OpaquePointer

  init(_ subscription: OpaquePointer) {
    unsafe self.subscription = subscription
    unsafe natsSubscription_SetPendingLimits(subscription, CInt(Lane.countMax), CInt(Lane.weightMax))
  }

  deinit { unsafe natsSubscription_Destroy(subscription) }
}
