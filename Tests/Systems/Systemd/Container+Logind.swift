// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Container {
  static let logindUnit = "tribune-logind.service"

  /// Returns when tribune-logind has reached the bus and logind. `settings` are lines of `[Logind]`.
  static func withLogind(
    _ release: Release = .own, settings: [String] = [], files: [String: String] = [:]
  ) throws -> Container {
    var files = files
    files["/etc/tribune/logind.conf.d/test.conf"] = (["[Logind]"] + settings).joined(separator: "\n") + "\n"
    files["/etc/systemd/journald.conf.d/test.conf"] = "[Journal]\nStorage=persistent\n"
    let machine = try Container(release, enabled: ["tribuned.socket", logindUnit], files: files)
    try machine.does("systemctl", "start", logindUnit)
    return machine
  }

  func waitForLogind(_ message: String) throws {
    try waitForEntry("_SYSTEMD_UNIT=\(Self.logindUnit)") { $0["MESSAGE"] as? String == message }
  }

  func logindMessagesLeft() throws -> [String] {
    try journalLeft("_SYSTEMD_UNIT=\(Self.logindUnit)").compactMap { $0["MESSAGE"] as? String }
  }

  func emitToLogind(_ arguments: String...) throws {
    var names: [Substring] = []
    for line in try does("busctl", "list", "--no-legend").split(separator: "\n") {
      let columns = line.split(separator: " ")
      if columns.count > 2, columns[2] == "tribune-logind" { names.append(columns[0]) }
    }
    guard names.count == 1 else {
      throw Programs.Missing(description: "tribune-logind is not on D-Bus: \(names)")
    }
    try does(["busctl", "emit", "--destination=\(names[0])"] + arguments)
  }

  struct Lock: Equatable {
    var what: String
    var who: String
    var why: String
    var uid: Int
  }

  /// The blocking locks, also weak ones; logind lists them in no order.
  func blocks() throws -> [Lock] {
    let reply = try jsonObject(
      does(
        "busctl", "call", "--json=short", "org.freedesktop.login1", "/org/freedesktop/login1",
        "org.freedesktop.login1.Manager", "ListInhibitors"))
    let locks = (reply["data"] as? [[[Any]]])?.first ?? []
    return locks.filter { ($0[3] as? String)?.hasPrefix("block") == true }.map { lock in
      Lock(
        what: lock[0] as? String ?? "", who: lock[1] as? String ?? "", why: lock[2] as? String ?? "",
        uid: lock[4] as? Int ?? -1)
    }.sorted { $0.what < $1.what }
  }

  /// logind learns of a lock's end after the bridge has released it.
  func waitForBlocks(_ locks: [Lock]) throws {
    let end = ContinuousClock.now + .seconds(Programs.patienceSeconds)
    while try blocks() != locks {
      guard ContinuousClock.now < end else {
        throw Programs.Missing(description: "logind does not come to the locks \(locks): \(try blocks())")
      }
    }
  }

  /// The action that logind has scheduled; empty for none.
  func scheduledShutdown() throws -> String {
    let property = try jsonObject(
      does(
        "busctl", "get-property", "--json=short", "org.freedesktop.login1", "/org/freedesktop/login1",
        "org.freedesktop.login1.Manager", "ScheduledShutdown"))
    return (property["data"] as? [Any])?.first as? String ?? "?"
  }

  func masked() throws -> [String] {
    try does("sh", "-c", "find /run/systemd/system* -lname /dev/null -printf '%f\n'").split(separator: "\n")
      .map(String.init).sorted()
  }
}
