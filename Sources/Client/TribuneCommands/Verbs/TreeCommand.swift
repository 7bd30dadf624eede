// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

struct TreeCommand: Command {
  init(_ invocation: Invocation) throws(CommandError) {}

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let objects = try await context.request { connection throws(TribuneError) in
      try await connection.objects()
    }
    try context.list(
      objects.map(\.json), text: ObjectTree(objects).lines(in: context).map { $0 + "\n" }.joined(),
      legend: "\(objects.count.counted("object")) listed.")
    return ExitStatus.success
  }
}

extension ObjectInfo {
  var json: JSONValue {
    .object([
      ("object", .string(object)), ("protocol", protocolName.map { .string($0) } ?? .null),
      ("delegates", .integer(delegates)), ("connection", connection.map { .string($0) } ?? .null),
    ])
  }
}
