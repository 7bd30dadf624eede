// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

struct LeasesCommand: Command {
  private struct Lease {
    var name: String
    var slots: Int
    var owners: [ListedOwner]
    /// Why the lease is unreadable; empty if it is readable.
    var error: String
  }

  init(_ invocation: Invocation) throws(CommandError) {}

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let connection = try await orEnd { () async throws(TribuneError) -> Connection in
      try await context.connect()
    }
    let value = try await LeaseQuery("list").value(over: connection)
    guard let root = value.jsonRoot, let list = root["leases"] else {
      throw .failure("this version cannot read the reply to cluster.lease.list")
    }
    let leases = (0..<list.count).compactMap { list[$0] }.map { node in
      Lease(
        name: node["lease"]?.string ?? "", slots: node["slots"]?.integer ?? 0, owners: node.leaseOwners,
        error: node["error"]?.string ?? "")
    }
    try context.list(leases.map(json), text: try context.text(of: table(leases)), legend: legend(leases))
    let unreadable = leases.filter { !$0.error.isEmpty }
    for lease in unreadable {
      context.terminal.report("\(lease.name.terminalSafe): \(lease.error.terminalSafe)")
    }
    if root["complete"]?.bool == false { context.terminal.report("there are more leases than are listed") }
    return unreadable.isEmpty ? ExitStatus.success : ExitStatus.failure
  }

  private func json(_ lease: Lease) -> JSONValue {
    .object([
      ("lease", .string(lease.name)), ("slots", .integer(lease.slots)),
      ("owners", .array(lease.owners.map(\.json))),
      ("error", lease.error.isEmpty ? .null : .string(lease.error)),
    ])
  }

  private func table(_ leases: [Lease]) -> Table {
    var table = Table([
      Table.Column(title: "LEASE", style: .bold), .number("SLOTS", rank: 1), "HOST", "SINCE", "STATE",
      .text("FOR", rank: 2), .number("PID", rank: 4), .text("UNIT", rank: 3),
    ])
    for lease in leases {
      let (name, slots) = (lease.name, lease.slots > 0 ? String(lease.slots) : "")
      if lease.owners.isEmpty {
        table.append([name, slots, "", "", lease.error.isEmpty ? "free" : "unreadable", "", "", ""])
      }
      for owner in lease.owners {
        let state = owner.isGhost ? "gone" : owner.isKept ? "kept" : "there"
        table.append(
          [
            name, slots, owner.host, owner.sinceText, state, owner.label,
            owner.pid > 0 ? String(owner.pid) : "", owner.unit,
          ], styles: owner.isGhost ? ["STATE": .yellow] : [:])
      }
    }
    return table
  }

  private func legend(_ leases: [Lease]) -> String {
    let ghosts = leases.flatMap(\.owners).count(where: \.isGhost)
    let what = ghosts == 0 ? "" : " \(ghosts.counted("of their hosts is", "of their hosts are")) not there."
    return "\(leases.count.counted("lease")) listed.\(what)"
  }
}
