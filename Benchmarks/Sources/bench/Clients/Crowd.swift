// SPDX-License-Identifier: Apache-2.0

import CBusDriver

/// Connections that observe nothing that others post.
struct Crowd: Equatable, Codable, Sendable {
  var connections: Int
  var observationsEach: Int

  var observations: Int { connections * observationsEach }

  /// Runs `body` while they are connected, and checks that they have received nothing.
  ///
  /// - Parameter haveStars: their patterns have stars, rather than being names.
  func around<Result>(
    _ server: Server, haveStars: Bool = false, _ body: () async throws -> Result
  ) async throws -> Result {
    let group = try Bystanders(self, on: server, haveStars: haveStars)
    let result = try await body()
    try group.leave()
    return result
  }
}

/// A crowd that is connected, until its last reference goes. The driver's pointer never leaves it.
@safe
final class Bystanders {
  private let server: Server
  private var crowd: OpaquePointer?

  init(_ crowd: Crowd, on server: Server, haveStars: Bool) throws {
    self.server = server
    try Driver.checked(server) { failure in
      unsafe self.crowd = driver_crowd_open(
        server.address, crowd.connections, crowd.observationsEach, haveStars, &failure)
      return unsafe self.crowd == nil ? -1 : 0
    }
  }

  /// Disconnects them, and checks that none has received anything.
  func leave() throws {
    guard let crowd = unsafe crowd else { return }
    unsafe self.crowd = nil
    try Driver.checked(server) { failure in unsafe driver_crowd_close(crowd, &failure) }
  }

  deinit {
    guard let crowd = unsafe crowd else { return }
    // Something else went wrong before, and is reported.
    var failure = driver_failure()
    _ = unsafe driver_crowd_close(crowd, &failure)
  }
}
