// SPDX-License-Identifier: Apache-2.0

import CNats

/// A context of JetStream. libnats's calls with it wait for the server.
@safe nonisolated final class JetStreamContext {
  private static let waitMilliseconds: Int64 = 2_000

  let pointer: OpaquePointer
  /// Must outlive it.
  let client: NATSClient

  /// - Throws: what libnats says. Whether the server has JetStream, only a call shows.
  init(_ client: NATSClient, waitMilliseconds: Int64 = waitMilliseconds) throws(NATSError) {
    self.client = client
    var made: OpaquePointer?
    var options = unsafe Self.options(waitMilliseconds: waitMilliseconds)
    try NATSError.check(unsafe natsConnection_JetStream(&made, client.connection, &options), "no JetStream")
    guard let made = unsafe made else { preconditionFailure("a context that was made is there") }
    unsafe pointer = made
  }

  deinit { unsafe jsCtx_Destroy(pointer) }

  /// The options of a call, which waits for so long.
  static func options(waitMilliseconds: Int64 = waitMilliseconds) -> jsOptions {
    var options = unsafe jsOptions()
    unsafe jsOptions_Init(&options)
    unsafe options.Wait = waitMilliseconds
    return unsafe options
  }
}
