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

  /// False if the unit is masked, or if this version of systemd does not have it. True if systemd cannot tell, because
  /// a veto must not be without effect.
  func canBeMasked(_ unit: String) async throws(DBusError) -> Bool {
    do throws(DBusError) {
      guard case .string(let state)? = try await bus.call(method("GetUnitFileState"), .string(unit)).first
      else {
        throw .unexpected("GetUnitFileState")
      }
      return !state.hasPrefix("masked")
    } catch {
      guard case .answered = error else { throw error }
      if error.isMissingUnit { return false }
      ServiceLog.warning("systemd does not tell whether \(unit) is masked: \(error)")
      return true
    }
  }

  /// True while the host shuts down. systemd then sends no reply to a reload.
  func isStopping() async throws(DBusError) -> Bool {
    try await property("SystemState", of: Self.path, "Manager") == .string("stopping")
  }

  /// The unit's current job, such as `restart`; empty without one.
  func job(of unit: String) async throws(DBusError) -> String {
    guard case .string(let unit)? = try await bus.call(method("GetUnit"), .string(unit)).first,
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

  /// Masks the units until the next boot.
  func mask(_ units: [String]) async throws(DBusError) {
    _ = try await bus.call(method("MaskUnitFiles"), .strings(units), .bool(true), .bool(false))
    _ = try await bus.call(method("Reload"))
  }

  func unmask(_ units: [String]) async throws(DBusError) {
    _ = try await bus.call(method("UnmaskUnitFiles"), .strings(units), .bool(true))
    _ = try await bus.call(method("Reload"))
  }
}
