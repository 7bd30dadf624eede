// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

struct AccountsCommand: Command {
  init(_ invocation: Invocation) throws(CommandError) {}

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let accounts = try await context.request { connection throws(TribuneError) in
      try await connection.accounts()
    }
    var table = Table([
      .init(title: "UID", isNumeric: true, style: .bold), "RESOURCE", .number("USED"), .number("SHARE"),
      .number("TOTAL"), "STATE",
    ])
    for account in accounts where account.used > 0 {
      table.append([
        String(account.uid), account.resource, String(account.used), String(account.share),
        String(account.total), account.state,
      ])
    }
    let count = Set(accounts.map(\.uid)).count
    try context.list(
      accounts.map(\.json), text: try context.text(of: table), legend: "\(count.counted("account")) listed.")
    return ExitStatus.success
  }
}

extension AccountInfo {
  fileprivate var state: String {
    [
      (isPrivileged, "privileged"), (weight > 1, "counts as \(weight)"), (used > share, "over its share"),
    ].filter(\.0).map(\.1).joined(separator: ", ")
  }

  fileprivate var json: JSONValue {
    .object([
      ("uid", .integer(Int(uid))), ("weight", .integer(weight)), ("privileged", .bool(isPrivileged)),
      ("resource", .string(resource)), ("used", .integer(used)), ("share", .integer(share)),
      ("total", .integer(total)),
    ])
  }
}
