// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

/// Calls to logind; see org.freedesktop.login1(5).
struct LogindProxy {
  nonisolated static let service = "org.freedesktop.login1"
  nonisolated static let interface = "\(service).Manager"
  /// The bridge watches these folders, because logind does not signal every change in them.
  static let folders = ["/run/systemd/inhibit", "/run/systemd/shutdown"]
  nonisolated private static let path = "/org/freedesktop/login1"

  private let bus: DBusConnection

  init(_ bus: DBusConnection) { self.bus = bus }

  private func method(_ name: String) -> DBusMethod {
    DBusMethod(destination: Self.service, path: Self.path, interface: Self.interface, name: name)
  }

  func inhibit(
    _ lock: HostQuestion.Lock, mode: String, _ text: LockText
  ) async throws(DBusError) -> DBusDescriptor {
    let reply = try await bus.call(
      method("Inhibit"), lock.rawValue, text.who, text.why, mode)
    guard case .descriptor(let lock)? = reply.first else { throw .unexpected("Inhibit") }
    return lock
  }

  func inhibitors() async throws(DBusError) -> [Inhibitor] {
    let reply = try await bus.call(method("ListInhibitors"))
    guard case .list(let entries)? = reply.first else { throw .unexpected("ListInhibitors") }
    return entries.compactMap { entry in
      guard case .list(let fields) = entry, fields.count == 6, case .string(let what) = fields[0],
        case .string(let who) = fields[1], case .string(let why) = fields[2],
        case .string(let mode) = fields[3],
        case .unsigned(let uid) = fields[4], case .unsigned(let pid) = fields[5]
      else { return nil }
      return Inhibitor(
        what: what, who: who, why: why, mode: mode, uid: UInt32(clamping: uid), pid: UInt32(clamping: pid))
    }
  }

  struct Schedule: Equatable, Sendable {
    var action: String
    /// In microseconds since 1970, UTC; 0 for an immediate shutdown.
    var time: UInt64
  }

  /// The shutdown that is scheduled or in progress; nil if there is none.
  func scheduledShutdown() async throws(DBusError) -> Schedule? {
    guard case .list(let fields) = try await property("ScheduledShutdown"), fields.count == 2,
      case .string(let action) = fields[0], case .unsigned(let time) = fields[1]
    else { throw .unexpected("ScheduledShutdown") }
    return action.isEmpty ? nil : Schedule(action: action, time: time)
  }

  func delayMax() async throws(DBusError) -> Duration {
    guard case .unsigned(let microseconds) = try await property("InhibitDelayMaxUSec") else {
      throw .unexpected("InhibitDelayMaxUSec")
    }
    return .microseconds(Int64(clamping: microseconds))
  }

  /// True if `block` locks stop root, too. They do since systemd 257, which also added `block-weak`.
  func bindsRoot() async throws(DBusError) -> Bool {
    do throws(DBusError) {
      _ = try await property("BlockWeakInhibited")
      return true
    } catch .answered("org.freedesktop.DBus.Error.UnknownProperty", _) {
      return false
    }
  }

  func isPreparing(for lock: HostQuestion.Lock) async throws(DBusError) -> Bool {
    let name = lock == .shutdown ? "PreparingForShutdown" : "PreparingForSleep"
    guard case .bool(let isPreparing) = try await property(name) else { throw .unexpected(name) }
    return isPreparing
  }

  /// - Returns: false if the shutdown is still scheduled, although logind reported success.
  func cancel(_ schedule: Schedule) async throws(DBusError) -> Bool {
    _ = try await bus.call(method("CancelScheduledShutdown"))
    return try await scheduledShutdown() != schedule
  }

  private func property(_ name: String) async throws(DBusError) -> DBusValue {
    try await bus.property(name, of: Self.interface, at: Self.path, by: Self.service)
  }
}
