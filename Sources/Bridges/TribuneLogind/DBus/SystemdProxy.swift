// SPDX-License-Identifier: Apache-2.0

/// The service manager, as org.freedesktop.systemd1(5) describes it.
struct SystemdProxy {
  private let bus: DBusConnection

  init(_ bus: DBusConnection) { self.bus = bus }

  private func method(_ name: String) -> DBusMethod {
    DBusMethod(
      destination: "org.freedesktop.systemd1", path: "/org/freedesktop/systemd1",
      interface: "org.freedesktop.systemd1.Manager", name: name,
      // A reload takes seconds on a host with many units.
      timeoutMicroseconds: 60_000_000)
  }

  /// Whether a unit is there, and nobody has masked it.
  func canBeMasked(_ unit: String) async throws(DBusError) -> Bool {
    do throws(DBusError) {
      guard case .string(let state)? = try await bus.call(method("GetUnitFileState"), .string(unit)).first
      else {
        throw .unexpected("GetUnitFileState")
      }
      return !state.hasPrefix("masked")
    } catch .answered {
      // Not every version has every target.
      return false
    }
  }

  /// Masks units until the next boot.
  func mask(_ units: [String]) async throws(DBusError) {
    _ = try await bus.call(method("MaskUnitFiles"), .strings(units), .bool(true), .bool(false))
    _ = try await bus.call(method("Reload"))
  }

  /// Takes that back.
  func unmask(_ units: [String]) async throws(DBusError) {
    _ = try await bus.call(method("UnmaskUnitFiles"), .strings(units), .bool(true))
    _ = try await bus.call(method("Reload"))
  }
}
