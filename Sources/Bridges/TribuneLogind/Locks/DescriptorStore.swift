// SPDX-License-Identifier: Apache-2.0

import CSystemdBus
import TribuneService
import TribuneSystem

/// The service manager's store for descriptors (sd_notify(3), `FDSTORE=1`), which outlives this process if it is killed.
/// Without a manager, nothing is stored.
final class DescriptorStore {
  /// Descriptors that an earlier process stored, by their names.
  private var inherited: [String: [CInt]] = [:]

  /// Takes what the manager has passed. Once only, while there is one thread.
  init() throws(Errno) {
    for (descriptor, name) in try PassedToService.take() { inherited[name, default: []].append(descriptor) }
  }

  var inheritedNames: [String] { inherited.keys.sorted() }

  /// Has the manager keep a copy.
  func store(_ descriptor: borrowing FileDescriptor, as name: String) {
    // FDPOLL=0: the manager would drop a lock when logind, its reader, is restarted.
    notify("FDSTORE=1\nFDNAME=\(name)\nFDPOLL=0", passing: descriptor.rawValue)
  }

  /// Has the manager close its copy of what was stored under this name, and closes what was inherited. Waits until the
  /// manager has done so, for a second at most.
  func drop(_ name: String) {
    notify("FDSTOREREMOVE=1\nFDNAME=\(name)")
    _ = sd_notify_barrier(0, 1_000_000)
    for descriptor in inherited.removeValue(forKey: name) ?? [] { FileDescriptor(owning: descriptor).close() }
  }

  private func notify(_ text: String, passing descriptor: CInt? = nil) {
    do throws(Errno) {
      try ServiceNotification.send(text, passing: descriptor)
    } catch {
      ServiceLog.warning("cannot notify the service manager: \(error)")
    }
  }
}
