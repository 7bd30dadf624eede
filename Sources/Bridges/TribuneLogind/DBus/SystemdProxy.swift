// SPDX-License-Identifier: Apache-2.0

import TribuneService

/// Calls to systemd; see org.freedesktop.systemd1(5).
struct SystemdProxy {
  private static let path = "/org/freedesktop/systemd1"

  private let bus: DBusConnection

  init(_ bus: DBusConnection) { self.bus = bus }

  private func method(_ name: String) -> DBusMethod {
    DBusMethod(
      destination: "org.freedesktop.systemd1", path: Self.path,
      interface: "org.freedesktop.systemd1.Manager", name: name,
      // The timeout allows for a reload, which takes seconds on a host with many units.
      timeoutMicroseconds: 60_000_000)
  }

  /// Includes units that another program or an administrator masked.
  func masked(among units: Set<String>) async throws(DBusError) -> Set<String> {
    var masked: Set<String> = []
    for unit in units where try await property("LoadState", ofUnit: unit) == .string("masked") {
      masked.insert(unit)
    }
    return masked
  }

  /// True if the file of any of the units has changed or vanished since systemd loaded the unit.
  func needReload(_ units: Set<String>) async throws(DBusError) -> Bool {
    for unit in units where try await property("NeedDaemonReload", ofUnit: unit) == .bool(true) {
      return true
    }
    return false
  }

  private func property(_ name: String, ofUnit unit: String) async throws(DBusError) -> DBusValue {
    guard case .string(let path)? = try await bus.call(method("LoadUnit"), unit).first else {
      throw .unexpected("LoadUnit")
    }
    return try await property(name, of: path, "Unit")
  }

  /// True while the host shuts down. systemd then sends no reply to a reload.
  func isStopping() async throws(DBusError) -> Bool {
    try await property("SystemState", of: Self.path, "Manager") == .string("stopping")
  }

  /// The unit's current job, such as `restart`; empty if the unit has none.
  func job(of unit: String) async throws(DBusError) -> String {
    guard case .string(let unit)? = try await bus.call(method("GetUnit"), unit).first,
      case .list(let job) = try await property("Job", of: unit, "Unit"), job.count == 2,
      case .unsigned(let id) = job[0], case .string(let path) = job[1]
    else { throw .unexpected("Job") }
    guard id != 0 else { return "" }
    guard case .string(let type) = try await property("JobType", of: path, "Job") else {
      throw .unexpected("JobType")
    }
    return type
  }

  private func property(
    _ name: String, of path: String, _ interface: String
  ) async throws(DBusError) -> DBusValue {
    try await bus.property(
      name, of: "org.freedesktop.systemd1.\(interface)", at: path, by: "org.freedesktop.systemd1")
  }

  func reload() async throws(DBusError) { _ = try await bus.call(method("Reload")) }
}
