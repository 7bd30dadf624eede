// SPDX-License-Identifier: Apache-2.0

import Tribune

/// `post NAME [JSON]`.
struct PostCommand: Command {
  private let name: String
  private let object: String
  private let userInfo: UserInfo

  init(_ invocation: Invocation) throws(CommandError) {
    name = try invocation.name(at: 0)
    object = try invocation.object()
    userInfo = try invocation.userInfo(at: 1)
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    try await context.request { [self] connection throws(TribuneError) in
      try await connection.postAcknowledged(name, object: object, userInfo: userInfo)
    }
    return ExitStatus.success
  }
}
