// SPDX-License-Identifier: Apache-2.0

import CSystemdBus
import TribuneService
import TribuneSystem

/// The service manager's descriptor store (sd_notify(3), `FDSTORE=1`), which outlives this process. Without a
/// service manager, calls have no effect.
final class DescriptorStore {
  private var inherited: [String: [CInt]] = [:]

  /// Takes the inherited descriptors. Must run only once, while the process has one thread.
  init() throws(Errno) {
    for (descriptor, name) in try PassedToService.take() { inherited[name, default: []].append(descriptor) }
  }

  var inheritedNames: [String] { inherited.keys.sorted() }

  func store(_ descriptor: borrowing FileDescriptor, as name: String) {
    // The descriptor hangs up when logind restarts. Without FDPOLL=0, the service manager would drop it then.
    notify("FDSTORE=1\nFDNAME=\(name)\nFDPOLL=0", passing: descriptor.rawValue)
  }

  /// Drops the descriptors of this name. Waits up to a second for the service manager.
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
