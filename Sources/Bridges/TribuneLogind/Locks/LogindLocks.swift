// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem
import TribuneWire

/// This program's own `block` and `delay` locks in logind. The service manager stores copies of their
/// descriptors, so the locks outlive the process. The next process takes its own locks before it drops the
/// stored ones.
final class LogindLocks {
  private struct Kind: Hashable {
    var lock: HostQuestion.Lock
    var mode: String

    var name: String { "\(mode)-\(lock.rawValue)" }

    static func block(_ lock: HostQuestion.Lock) -> Kind { Kind(lock: lock, mode: "block") }
    static func delay(_ lock: HostQuestion.Lock) -> Kind { Kind(lock: lock, mode: "delay") }
  }

  private struct Held {
    var descriptor: DBusDescriptor
    var name: String
    var text: LockText
    var isWeak: Bool
    var isExpired = false
  }

  private static let delayText = LockText([
    Objection(who: "Tribune", why: "Observers of the bus get ready")
  ])

  private let store: DescriptorStore
  private var held: [Kind: Held] = [:]
  private var lastNumber = 0
  /// The earlier processes of this program whose locks logind can still list. A dropped lock stays in that
  /// list for a moment.
  private var formerProcesses: Set<UInt32>

  init(store: DescriptorStore) {
    self.store = store
    formerProcesses = Set(store.inheritedNames.compactMap { Self.process(inName: $0) })
  }

  /// The process id in a stored name, `block-shutdown.PID.N`. logind lists the lock under this process id.
  private static func process(inName name: String) -> UInt32? {
    let parts = name.split(separator: ".")
    return parts.count == 3 ? UInt32(parts[1]) : nil
  }

  func blocking(_ lock: HostQuestion.Lock) -> LockText? { held[.block(lock)]?.text }

  /// Returns false if the held lock still fits. Otherwise, takes the new lock, then releases the old one.
  func block(
    _ lock: HostQuestion.Lock, _ text: LockText, isWeak: Bool, at logind: LogindProxy
  ) async throws(DBusError) -> Bool {
    if let held = held[.block(lock)], held.text == text, held.isWeak == isWeak, !held.isExpired {
      return false
    }
    try await take(.block(lock), text, isWeak: isWeak, at: logind)
    return true
  }

  func delay(_ lock: HostQuestion.Lock, at logind: LogindProxy) async throws(DBusError) {
    if let held = held[.delay(lock)], !held.isExpired { return }
    try await take(.delay(lock), Self.delayText, at: logind)
    dropInherited(.delay(lock))
  }

  func endDelay(_ lock: HostQuestion.Lock) {
    release(.delay(lock))
    dropInherited(.delay(lock))
  }

  /// Makes later calls take the locks again, because a restarted logind may not know them.
  func expire() {
    for kind in held.keys { held[kind]?.isExpired = true }
  }

  func release(_ lock: HostQuestion.Lock) -> Bool {
    defer { release(.block(lock)) }
    return held[.block(lock)] != nil
  }

  /// Drops the inherited `block` locks. The caller must have taken its own locks, or know that it needs none.
  func dropInheritedBlockLocks() { for lock in HostQuestion.Lock.allCases { dropInherited(.block(lock)) } }

  private func dropInherited(_ kind: Kind) {
    for name in store.inheritedNames where name.hasPrefix("\(kind.name).") { store.drop(name) }
  }

  func processes(among inhibitors: [Inhibitor]) -> Set<UInt32> {
    formerProcesses.formIntersection(inhibitors.map(\.pid))
    return formerProcesses.union([ThisProcess.id])
  }

  func isListed(_ lock: HostQuestion.Lock, among inhibitors: [Inhibitor]) -> Bool {
    let own = processes(among: inhibitors)
    return inhibitors.contains {
      $0.uid == 0 && own.contains($0.pid) && $0.questions.contains { $0.lock == lock }
    }
  }

  private func take(
    _ kind: Kind, _ text: LockText, isWeak: Bool = false, at logind: LogindProxy
  ) async throws(DBusError) {
    let descriptor = try await logind.inhibit(kind.lock, mode: kind.mode + (isWeak ? "-weak" : ""), text)
    lastNumber += 1
    let name = "\(kind.name).\(ThisProcess.id).\(lastNumber)"
    store.store(descriptor.descriptor, as: name)
    release(kind)
    held[kind] = Held(descriptor: descriptor, name: name, text: text, isWeak: isWeak)
  }

  private func release(_ kind: Kind) {
    // The lock ends when two copies of its descriptor are closed: this process's copy, which closes when
    // `lock` is freed, and the copy in the descriptor store.
    if let lock = held.removeValue(forKey: kind) { store.drop(lock.name) }
  }
}
