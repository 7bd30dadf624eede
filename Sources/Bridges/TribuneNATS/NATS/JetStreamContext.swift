// SPDX-License-Identifier: Apache-2.0

import CNats

/// A JetStream context of libnats. Calls that use it block.
@safe nonisolated final class JetStreamContext {
  private static let waitMilliseconds: Int64 = 2_000

  let pointer: OpaquePointer
  /// Must outlive `pointer`.
  let client: NATSClient

  /// Succeeds even if the server has no JetStream.
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
