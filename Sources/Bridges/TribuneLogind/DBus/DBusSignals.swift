// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

/// The signals of one D-Bus service. Any process can send any signal, and a signal identifies its sender only
/// by a unique name. So this type tracks which connection owns the service's name.
final class DBusSignals {
  private static let driver = "org.freedesktop.DBus"

  private let bus: DBusConnection
  private let service: String
  /// The unique name of the service's connection; empty if the service does not run.
  private(set) var owner = ""
  private var newsCount = 0
  private var matches: [DBusConnection.Match] = []
  private let ownerChanged: (_ isThere: Bool) -> Void

  /// - Parameter ownerChanged: called when the service starts or ends, and once if the service already runs.
  init(
    of service: String, on bus: DBusConnection, ownerChanged: @escaping (_ isThere: Bool) -> Void = { _ in }
  ) throws(Errno) {
    (self.bus, self.service, self.ownerChanged) = (bus, service, ownerChanged)
    if service.hasPrefix(":") {
      owner = service
      return
    }
    let rule = "type='signal',sender='\(Self.driver)',member='NameOwnerChanged',arg0='\(service)'"
    matches.append(
      try bus.match(rule) { [weak self] signal in
        guard signal.sender == Self.driver, let values = signal.values, values.count == 3,
          values[0] == .string(service), case .string(let owner) = values[2]
        else { return }
        self?.receiveOwner(owner)
      })
    Task { await findOwner() }
  }

  private func findOwner() async {
    let method = DBusMethod(
      destination: Self.driver, path: "/org/freedesktop/DBus", interface: Self.driver, name: "GetNameOwner")
    let count = newsCount
    do throws(DBusError) {
      let reply = try await bus.call(method, service)
      // If a signal named an owner during the call, the reply may be outdated.
      if case .string(let owner)? = reply.first, count == newsCount { receiveOwner(owner) }
    } catch {
      // Usually, the service does not run yet. When the service starts, a signal names its owner.
      return
    }
  }

  private func receiveOwner(_ owner: String) {
    newsCount += 1
    guard owner != self.owner else { return }
    let hadOwner = !self.owner.isEmpty
    self.owner = owner
    // A direct change from one owner to another counts as an end and a start.
    if hadOwner { ownerChanged(false) }
    if !owner.isEmpty { ownerChanged(true) }
  }

  /// Calls `handle` for the service's signals as long as this object lives.
  func on(
    interface: String, member: String, path: String? = nil, _ handle: @escaping (DBusMessage) -> Void
  ) throws(Errno) {
    let rule =
      "type='signal',sender='\(service)',interface='\(interface)',member='\(member)'"
      + (path.map { ",path='\($0)'" } ?? "")
    matches.append(
      try bus.match(rule) { [weak self] signal in
        if let self, signal.sender == owner { handle(signal) }
      })
  }
}
