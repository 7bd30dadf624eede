// SPDX-License-Identifier: Apache-2.0

import CNats

/// The calls of libnats that use this context block.
@safe nonisolated final class JetStreamContext {
  private static let waitMilliseconds: Int64 = 2_000

  let pointer: OpaquePointer
  /// Must outlive the context.
  let client: NATSClient

  /// Succeeds even without JetStream on the server.
  init(_ client: NATSClient, waitMilliseconds: Int64 = waitMilliseconds) throws(NATSError) {
    self.client = client
    var made: OpaquePointer?
    var options = unsafe Self.options(waitMilliseconds: waitMilliseconds)
    try NATSError.check(unsafe natsConnection_JetStream(&made, client.connection, &options), "no JetStream")
    guard let made = unsafe made else { preconditionFailure("a context that was made is there") }
    unsafe pointer = made
  }

  deinit { unsafe jsCtx_Destroy(pointer) }

  static func options(waitMilliseconds: Int64 = waitMilliseconds) -> jsOptions {
    var options = unsafe jsOptions()
    unsafe jsOptions_Init(&options)
    unsafe options.Wait = waitMilliseconds
    return unsafe options
  }
}
